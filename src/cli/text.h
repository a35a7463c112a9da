// Words for people: durations, colours, and text from a server made safe for a terminal.
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Appends text with control characters (C0, DEL, C1) and invalid UTF-8 replaced by "?"; newlines and tabs by spaces.
void text_safe(struct str *out, const char *text);

enum { TEXT_DURATION_MAX = 24 };
// "0.4s", "3s", "42s", "2m13s", "3h05m", "4d2h".
void text_duration(int64_t ns, char out[TEXT_DURATION_MAX]);
bool text_parse_duration(const char *text, int64_t *ret_ms);

// SGR parameters: "32". NULL stands for no colour.
void text_colour(struct str *out, bool on, const char *colour, const char *text);
const char *text_state_colour(const char *state);
const char *text_rank_colour(int64_t rank);

size_t text_width(const char *text); // code points, escape sequences left out
// At most width code points; escape sequences pass, and a colour that is cut off is reset.
void text_fit(struct str *out, const char *text, size_t width);

// Standard base64 to bytes, appended. false when it is not base64.
bool text_base64(const char *text, struct str *out);

#endif
