// Columns that line up.
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS_MAX = 16 };

struct table {
    char **cells; // row by row, made safe
    const char **colours;
    size_t cell_count, cap;
    size_t columns;
    size_t widths[TABLE_COLUMNS_MAX];
    bool colours_on;
};

void table_init(struct table *t, bool colours_on, const char *const *titles, size_t columns);
void table_done(struct table *t);
void table_add(struct table *t, const char *text); // the next cell; "" shows as "-"
void table_add_coloured(struct table *t, const char *colour, const char *text);
void table_clear(struct table *t); // drops the rows, keeps the widths; further rows need no titles
void table_write(const struct table *t, struct str *out);

#endif
