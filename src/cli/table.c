#include "cli/table.h"

#include "base/mem.h"
#include "cli/text.h"

void table_init(struct table *t, bool colours_on, const char *const *titles, size_t columns) {
    *t = (struct table){.colours_on = colours_on, .columns = columns};
    for (size_t i = 0; i < columns; i++) {
        table_add_coloured(t, "1", titles[i]);
    }
}

void table_clear(struct table *t) {
    for (size_t i = 0; i < t->cell_count; i++) {
        mem_free(t->cells[i]);
    }
    t->cell_count = 0;
}

void table_done(struct table *t) {
    table_clear(t);
    mem_free(t->cells);
    mem_free(t->colours);
    *t = (struct table){0};
}

void table_add(struct table *t, const char *text) {
    table_add_coloured(t, NULL, text);
}

void table_add_coloured(struct table *t, const char *colour, const char *text) {
    if (t->cell_count == t->cap) {
        t->cap = t->cap * 2 + 64;
        t->cells = mem_realloc_array(t->cells, t->cap, sizeof *t->cells);
        t->colours = mem_realloc_array(t->colours, t->cap, sizeof *t->colours);
    }
    struct str safe = STR_INIT;
    text_safe(&safe, str_is_empty(text) ? "-" : text);
    size_t column = t->cell_count % t->columns;
    size_t width = text_width(str_text(&safe));
    t->widths[column] = width > t->widths[column] ? width : t->widths[column];
    t->colours[t->cell_count] = colour;
    t->cells[t->cell_count++] = str_take(&safe);
}

void table_write(const struct table *t, struct str *out) {
    for (size_t i = 0; i < t->cell_count; i++) {
        size_t column = i % t->columns;
        text_colour(out, t->colours_on, t->colours[i], t->cells[i]);
        if (column + 1 == t->columns) {
            str_add_char(out, '\n');
            continue;
        }
        for (size_t pad = text_width(t->cells[i]); pad < t->widths[column] + 2; pad++) {
            str_add_char(out, ' ');
        }
    }
}
