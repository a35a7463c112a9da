#include "base/id.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/document.h"
#include "cli/follow.h"
#include "cli/internal.h"
#include "cli/job.h"

#include <stdio.h>

static const struct cli_flag flags[] = {
    {"file", "f", "FILE", "job file, YAML or JSON, \"-\" for stdin; may be given again", NULL, WORDS_FILE},
    {"follow", "w", NULL, "stay with the job to its end: states, logs, its exit status; one job only", NULL,
     WORDS_NONE},
    {"dry-run", NULL, NULL, "check everything and create nothing", NULL, WORDS_NONE},
    {"request-id", NULL, "KEY", "idempotency key: the same key gives the same job, however often", NULL, WORDS_NONE},
    {"name", NULL, "NAME", "instead of the name in the file", NULL, WORDS_NONE},
    {"backend", NULL, "NAME", "instead of the backend in the file", NULL, WORDS_NONE},
};

struct documents {
    struct document *list;
    size_t count;
};

static bool read_all(struct cli *cli, struct documents *all, struct err *err) {
    size_t at = 0;
    for (const char *path = args_next(&cli->args, "file", &at); path != NULL;
         path = args_next(&cli->args, "file", &at)) {
        struct document *some;
        size_t n;
        if (!document_read(cli, path, &some, &n, err)) {
            return false;
        }
        if (all->count + n > DOCUMENTS_MAX) {
            return err_fail(err, ERR_INVALID, "BAD_FILE", "more than %d jobs at once", (int)DOCUMENTS_MAX);
        }
        all->list = mem_realloc_array(all->list, all->count + n, sizeof *all->list);
        for (size_t i = 0; i < n; i++) {
            all->list[all->count++] = some[i];
        }
    }
    return all->count > 0 || err_fail(err, ERR_INVALID, "USAGE",
                                      "no job file: trainctl submit -f FILE (a job without a file: trainctl run)");
}

// Several jobs under one key need a key each, the same ones every time.
static void write_request_id(const struct cli *cli, struct json_writer *w, size_t index, size_t count) {
    const char *key = args_text(&cli->args, "request-id", NULL);
    CLEANUP(str_done) struct str id = STR_INIT;
    if (key != NULL) {
        str_add(&id, key);
        if (count > 1) {
            str_printf(&id, "-%zu", index + 1);
        }
    } else if (args_has(&cli->args, "follow")) {
        char random[ID_UID_LEN + 1];
        id_uid(random);
        str_printf(&id, "submit-%s", random);
    } else {
        return;
    }
    json_key(w, "request_id");
    json_add_string(w, str_text(&id));
}

static void write_request(const struct cli *cli, const struct documents *all, size_t index, struct str *out) {
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, "spec");
    document_write_spec(cli, &all->list[index], &w);
    write_request_id(cli, &w, index, all->count);
    if (args_has(&cli->args, "dry-run")) {
        json_key(&w, "validate_only");
        json_add_bool(&w, true);
    }
    json_end_object(&w);
}

static void print_answer(struct cli *cli, const char *file, const struct json *answer) {
    CLEANUP(str_done) struct str line = STR_INIT;
    const struct json *job = json_get(answer, "job");
    JSON_EACH (warning, json_get(answer, "warnings")) {
        cli_note(cli, "warning: %s", json_string(warning, ""));
    }
    if (out_tree(cli, answer)) {
        return;
    }
    if (args_has(&cli->args, "dry-run")) {
        str_printf(&line, "%s: valid, %s on %s", file, json_string(json_get(job, "runtime"), "manifest"),
                   json_string(json_get(job, "backend"), "the default backend"));
    } else {
        str_printf(&line, "%s %s", json_string(json_get(job, "name"), ""),
                   json_bool(json_get(answer, "duplicate"), false) ? "was submitted before" : "submitted");
    }
    CLEANUP(str_done) struct str safe = STR_INIT;
    text_safe(&safe, str_text(&line));
    puts(str_text(&safe));
}

static bool submit_one(struct cli *cli, const struct documents *all, size_t index, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    struct arena a;
    const struct json *answer;
    arena_init(&a, 0);
    write_request(cli, all, index, &request);
    bool ok = call_unary(cli, "Submit", &request, &a, &answer, err);
    if (ok) {
        print_answer(cli, all->list[index].file, answer);
    } else {
        document_locate(&all->list[index], err);
    }
    arena_done(&a);
    return ok;
}

// One bad job does not keep the others from being submitted.
static int submit_all(struct cli *cli, const struct documents *all) {
    int status = CLI_OK;
    for (size_t i = 0; i < all->count; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (!submit_one(cli, all, i, &err)) {
            int failed = cli_fail(cli, &err);
            status = status == CLI_OK ? failed : status;
        }
    }
    return status;
}

static int follow(struct cli *cli, const struct documents *all) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    if (all->count != 1 || args_has(&cli->args, "dry-run")) {
        return cli_usage(cli, "--follow goes with one job, and not with --dry-run");
    }
    if (!server_ensure(cli, &err)) {
        return cli_fail(cli, &err);
    }
    write_request(cli, all, 0, &request);
    return follow_submit(cli, &request, &all->list[0]);
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct documents all = {0};
    int status;
    if (!read_all(cli, &all, &err)) {
        status = cli_fail(cli, &err);
    } else {
        status = args_has(&cli->args, "follow") ? follow(cli, &all) : submit_all(cli, &all);
    }
    mem_free(all.list);
    return status;
}

const struct cli_command command_submit = {
    .name = "submit",
    .args = "-f FILE",
    .summary = "submit jobs from files",
    .help = "A file holds one or several documents: job specs, or Kubernetes objects such as a PyTorchJob, which are\n"
            "submitted as they are. The server has a job safe when its name is printed.",
    .examples = "trainctl submit -f job.yaml --follow\n"
                "trainctl submit -f job.yaml --dry-run\n"
                "trainctl submit -f job.yaml --request-id nightly-2026-01-31\n"
                "generate-jobs | trainctl submit -f - -o name",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .run = run,
};
