#include "plugin/internal.h"

#include "base/str.h"

#include <string.h>

int text_cut(const char *text, size_t max) {
    size_t n = strnlen(text, max + 1);
    if (n > max) {
        n = max;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    return (int)n;
}

bool text_line_valid(const char *text, size_t max) {
    size_t n = text != NULL ? strnlen(text, max + 1) : 0;
    if (n == 0 || n > max || str_utf8_valid(text, n) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

bool text_name_valid(const char *name, size_t max) {
    size_t n = name != NULL ? strnlen(name, max + 1) : 0;
    if (n == 0 || n > max || name[0] < 'a' || name[0] > 'z') {
        return false;
    }
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}
