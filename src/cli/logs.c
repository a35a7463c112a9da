#include "base/clock.h"
#include "cli/commands.h"
#include "cli/feed.h"
#include "cli/internal.h"
#include "cli/lines.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const struct cli_flag flags[] = {
    {"follow", "f", NULL, "stay until the job has ended", NULL, WORDS_NONE},
    {"tail", NULL, "N", "only the last N lines of each process", NULL, WORDS_NONE},
    {"since", NULL, "DURATION", "only what is younger, as 90s, 10m, 2h", NULL, WORDS_NONE},
    {"role", NULL, "ROLE", "only processes of this role", NULL, WORDS_NONE},
    {"index", NULL, "N", "only this one of the role; needs --role", NULL, WORDS_NONE},
    {"attempt", NULL, "N", "of this attempt; default the newest, and with -f all that follow", NULL, WORDS_NONE},
    {"previous", "p", NULL, "of the attempt before the newest", NULL, WORDS_NONE},
    {"prefix", NULL, NULL, "every line after the name of its process", NULL, WORDS_NONE},
    {"limit-bytes", NULL, "N", "end after N bytes", NULL, WORDS_NONE},
};

static bool write_numbers(const struct cli *cli, struct json_writer *w, struct err *err) {
    static const struct {
        const char *flag, *field;
        int64_t min, max;
    } numbers[] = {{"index", "index", 0, 9999},
                   {"attempt", "attempt", 1, INT32_MAX},
                   {"tail", "tail_lines", 0, 1000000},
                   {"limit-bytes", "limit_bytes", 1, INT64_MAX}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        int64_t value = -1;
        if (!args_int(&cli->args, numbers[i].flag, numbers[i].min, numbers[i].max, &value, err)) {
            return false;
        }
        if (value >= 0) {
            json_key(w, numbers[i].field);
            json_add_int(w, value);
        }
    }
    return true;
}

static bool write_request(const struct cli *cli, struct str *out, struct err *err) {
    struct json_writer w;
    int64_t since_ms = -1;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, "job");
    call_write_ref(cli, &w, cli->args.words[0]);
    if (!write_numbers(cli, &w, err) || !args_duration(&cli->args, "since", &since_ms, err)) {
        return false;
    }
    if (since_ms >= 0) {
        char time[CLOCK_TEXT_MAX];
        clock_format(clock_wall() - since_ms * CLOCK_MS, time);
        json_key(&w, "since");
        json_add_string(&w, time);
    }
    if (args_has(&cli->args, "role")) {
        json_key(&w, "role");
        json_add_string(&w, args_text(&cli->args, "role", ""));
    }
    json_key(&w, "follow");
    json_add_bool(&w, args_has(&cli->args, "follow"));
    json_key(&w, "previous");
    json_add_bool(&w, args_has(&cli->args, "previous"));
    json_end_object(&w);
    return true;
}

static void note_marker(const struct cli *cli, const struct json *tree) {
    const struct json *gap = json_get(tree, "gap");
    const struct json *attempt = json_get(tree, "attempt");
    if (gap != NULL) {
        cli_note(cli, "%s-%" PRId64 ": bytes %" PRId64 " to %" PRId64 " of the log are gone: %s",
                 json_string(json_get(gap, "role"), "?"), call_int(json_get(gap, "index")),
                 call_int(json_get(gap, "from_offset")), call_int(json_get(gap, "to_offset")),
                 json_string(json_get(gap, "message"), "over the size limit"));
    } else if (attempt != NULL && call_int(json_get(attempt, "attempt")) > 1) {
        cli_note(cli, "%s-%" PRId64 ": attempt %" PRId64, json_string(json_get(attempt, "role"), "?"),
                 call_int(json_get(attempt, "index")), call_int(json_get(attempt, "attempt")));
    }
}

// Without --prefix the bytes are the process's own, all of them and no others.
static void print_message(const struct cli *cli, struct lines *lines, const struct json *tree) {
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *chunk = json_get(tree, "chunk");
    if (cli->output == OUTPUT_JSON || cli->output == OUTPUT_YAML) {
        out_line(cli, tree);
    } else if (chunk == NULL) {
        note_marker(cli, tree);
    } else if (args_has(&cli->args, "prefix")) {
        lines_add_chunk(lines, chunk, &text);
    } else {
        (void)text_base64(json_string(json_get(chunk, "data"), ""), &text); // made by our own JSON mapping
    }
    if (text.len > 0) {
        fwrite(text.data, 1, text.len, stdout);
        fflush(stdout);
    }
}

static int follow(struct cli *cli, struct feed *feed, struct lines *lines) {
    for (;;) {
        struct message *m = feed_next(feed, 60000);
        if (m == NULL) {
            continue;
        }
        int status = -1;
        switch (m->kind) {
        case FEED_MESSAGE:
            print_message(cli, lines, m->tree);
            break;
        case FEED_AWAY:
            cli_note(cli, "the connection broke; trying again");
            break;
        case FEED_BACK:
            cli_note(cli, "connected again");
            break;
        case FEED_END:
            status = CLI_OK;
            break;
        case FEED_FAILED:
            status = cli_fail(cli, &m->err);
            break;
        }
        message_free(m);
        if (status >= 0) {
            return status;
        }
    }
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    CLEANUP(str_done) struct str rest = STR_INIT;
    struct lines lines;
    if (!write_request(cli, &request, &err) || !server_find(cli, &err) || !server_check(cli, &err)) {
        return cli_fail(cli, &err);
    }
    struct feed *feed = feed_new(cli, "Logs", &request);
    lines_init(&lines, cli->out_colours, isatty(STDOUT_FILENO));
    int status = follow(cli, feed, &lines);
    lines_flush(&lines, &rest);
    fwrite(str_text(&rest), 1, rest.len, stdout);
    lines_done(&lines);
    feed_free(feed);
    return status;
}

const struct cli_command command_logs = {
    .name = "logs",
    .args = "JOB",
    .summary = "print what the processes of a job wrote",
    .help = "All processes in the order of writing; without --prefix exactly their bytes. With -o json one message a "
            "line.",
    .examples = "trainctl logs -f --prefix pytorch-4h7k2m9x\n"
                "trainctl logs pytorch-4h7k2m9x --role worker --index 0 --tail 50\n"
                "trainctl logs pytorch-4h7k2m9x --since 10m",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .min_args = 1,
    .max_args = 1,
    .words = WORDS_JOB,
    .run = run,
};
