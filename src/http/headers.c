#include "http/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_token(const char *s) {
    size_t n = 0;
    for (; s[n] != '\0'; n++) {
        if (!isalnum((unsigned char)s[n]) && strchr("!#$%&'*+-.^_`|~", s[n]) == NULL) {
            return false;
        }
    }
    return n > 0;
}

bool http_header_valid(const char *name, const char *value) {
    for (const char *c = value; *c != '\0'; c++) {
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) {
            return false;
        }
    }
    return is_token(name);
}

bool http_header_set_put(struct header_set *set, const char *name, const char *value) {
    if (!http_header_valid(name, value != NULL ? value : "")) {
        return false;
    }
    size_t at = 0;
    while (at < set->count && !str_same_nocase(set->names[at], name)) {
        at++;
    }
    if (at < set->count) {
        mem_free(set->names[at]);
        mem_free(set->values[at]);
        set->count--;
        memmove(&set->names[at], &set->names[at + 1], (set->count - at) * sizeof *set->names);
        memmove(&set->values[at], &set->values[at + 1], (set->count - at) * sizeof *set->values);
    }
    if (value != NULL) {
        set->names = mem_realloc_array(set->names, set->count + 1, sizeof *set->names);
        set->values = mem_realloc_array(set->values, set->count + 1, sizeof *set->values);
        set->names[set->count] = mem_strdup(name);
        set->values[set->count++] = mem_strdup(value);
    }
    return true;
}

void http_header_set_done(struct header_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        mem_free(set->names[i]);
        mem_free(set->values[i]);
    }
    mem_free(set->names);
    mem_free(set->values);
    memset(set, 0, sizeof *set);
}

static void add_line(struct curl_slist **list, const char *line) {
    struct curl_slist *more = curl_slist_append(*list, line);
    if (more == NULL) {
        abort();
    }
    *list = more;
}

static void add_header(struct curl_slist **list, const char *name, const char *value) {
    // "Name:" would take libcurl's own header away; "Name;" sends an empty one
    CLEANUP(mem_free_ptr) char *line = *value != '\0' ? mem_printf("%s: %s", name, value) : mem_printf("%s;", name);
    add_line(list, line);
}

static bool has(const struct http_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (str_same_nocase(request->headers[i].name, name)) {
            return true;
        }
    }
    return false;
}

struct curl_slist *http_header_lines(const struct http_endpoint *endpoint, const struct http_request *request) {
    struct curl_slist *lines = NULL;
    add_line(&lines, "Expect:"); // else libcurl waits a second for a 100 before it sends a large body
    if (!has(request, "Content-Type")) {
        add_line(&lines, "Content-Type:"); // libcurl's guess is a web form
    }
    if (endpoint->host != NULL) {
        add_header(&lines, "Host", endpoint->host);
    }
    for (size_t i = 0; i < endpoint->headers.count; i++) {
        if (!has(request, endpoint->headers.names[i])) {
            add_header(&lines, endpoint->headers.names[i], endpoint->headers.values[i]);
        }
    }
    for (size_t i = 0; i < request->header_count; i++) {
        add_header(&lines, request->headers[i].name, request->headers[i].value);
    }
    return lines;
}
