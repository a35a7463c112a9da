// Random identifiers and small encodings.
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ID_UID_LEN = 32, ID_SUFFIX_LEN = 8 };

void id_random(void *out, size_t n);                // from the kernel; aborts if there is none
void id_uid(char out[ID_UID_LEN + 1]);              // 32 hex digits; the first 12 are the time in ms, so they sort
void id_suffix(char out[ID_SUFFIX_LEN + 1]);        // 8 of [a-z0-9]
bool id_equal_secret(const char *a, const char *b); // constant time in the length of a

// base64url without padding. out needs 4 * n / 3 + 3 bytes.
void id_base64url(const void *data, size_t n, char *out);
// Returns the number of bytes, or -1 when text is not base64url or does not fit.
long id_base64url_decode(const char *text, void *out, size_t max);

void id_hex(const void *data, size_t n, char *out); // out needs 2 * n + 1

// SHA-256.
enum { ID_SHA256_LEN = 32 };
void id_sha256(const void *data, size_t n, uint8_t out[ID_SHA256_LEN]);

#endif
