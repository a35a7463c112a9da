#include "cli/internal.h"

#include <stdio.h>
#include <unistd.h>

// Names and messages in an answer are from others. JSON escapes the C0 controls by itself; on a terminal the C1 ones
// and DEL go the same way.
void out_text(const struct str *text) {
    bool terminal = isatty(STDOUT_FILENO);
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->data[i];
        unsigned char next = i + 1 < text->len ? (unsigned char)text->data[i + 1] : 0;
        if (terminal && c == 0xC2 && next >= 0x80 && next <= 0x9F) {
            printf("\\u%04x", next);
            i++;
        } else if (terminal && c == 0x7F) {
            printf("\\u007f");
        } else {
            putchar(c);
        }
    }
}

static void put_name(const struct json *tree) {
    const char *name = json_string(json_get(tree, "name"), NULL);
    if (name != NULL) {
        printf("%s\n", name);
    }
}

// A job, an answer with one job in it, or a list of things that have names.
static void put_names(const struct json *tree) {
    static const char *const lists[] = {"jobs", "runtimes"};
    put_name(tree);
    put_name(json_get(tree, "job"));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        JSON_EACH (item, json_get(tree, lists[i])) {
            put_name(item);
        }
    }
}

bool out_tree(struct cli *cli, const struct json *tree) {
    CLEANUP(str_done) struct str text = STR_INIT;
    switch (cli->output) {
    case OUTPUT_JSON:
        json_write_pretty(&text, tree);
        break;
    case OUTPUT_YAML:
        str_add(&text, cli->documents++ > 0 ? "---\n" : "");
        json_write_yaml(&text, tree);
        break;
    case OUTPUT_NAME:
        put_names(tree);
        return true;
    default:
        return false;
    }
    out_text(&text);
    return true;
}

void out_line(const struct cli *cli, const struct json *tree) {
    CLEANUP(str_done) struct str text = STR_INIT;
    if (cli->output == OUTPUT_YAML) {
        str_add(&text, "---\n");
        json_write_yaml(&text, tree);
    } else {
        json_write(&text, tree);
        str_add_char(&text, '\n');
    }
    out_text(&text);
    fflush(stdout);
}
