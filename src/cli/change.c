// The verbs that change a job which is there: cancel, delete, suspend, resume, scale.
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/job.h"
#include "cli/pages.h"

#include <stdio.h>

#define FLAG_SELECTOR                                                                                                  \
    { "selector", "l", "SELECTOR", "all jobs with these labels, instead of names", NULL, WORDS_NONE }

static const struct cli_flag cancel_flags[] = {
    FLAG_SELECTOR,
    {"reason", NULL, "TEXT", "kept with the job, for people", NULL, WORDS_NONE},
    {"grace", NULL, "SECONDS", "from TERM to KILL; default the server's", NULL, WORDS_NONE},
    {"early-stopped", NULL, NULL, "not promising, says a driver: ends as EARLY_STOPPED", NULL, WORDS_NONE},
};
static const struct cli_flag delete_flags[] = {
    FLAG_SELECTOR,
    {"force", NULL, NULL, "also jobs that have not ended: they are killed", NULL, WORDS_NONE},
};
static const struct cli_flag suspend_flags[] = {
    FLAG_SELECTOR,
    {"reason", NULL, "TEXT", "kept with the job, for people", NULL, WORDS_NONE},
};
static const struct cli_flag resume_flags[] = {FLAG_SELECTOR};
static const struct cli_flag scale_flags[] = {
    {"replicas", NULL, "N", "how many, at least 1", NULL, WORDS_NONE},
    {"role", NULL, "ROLE", "default the one that can be scaled", NULL, WORDS_NONE},
    FLAG_SELECTOR,
};

// The fields of the requests by the flags that fill them.
static bool write_flags(const struct cli *cli, struct json_writer *w, struct err *err) {
    static const char *const switches[][2] = {{"early-stopped", "early_stopped"}, {"force", "force"}};
    int64_t grace = -1;
    int64_t replicas = 0;
    if (!args_int(&cli->args, "grace", 0, 3600, &grace, err) ||
        !args_int(&cli->args, "replicas", 1, 10000, &replicas, err)) {
        return false;
    }
    if (replicas > 0) {
        json_key(w, "replicas");
        json_add_int(w, replicas);
    }
    if (args_has(&cli->args, "role")) {
        json_key(w, "role");
        json_add_string(w, args_text(&cli->args, "role", ""));
    }
    if (grace >= 0) {
        json_key(w, "grace_seconds");
        json_add_int(w, grace);
    }
    if (args_has(&cli->args, "reason")) {
        json_key(w, "reason");
        json_add_string(w, args_text(&cli->args, "reason", ""));
    }
    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        if (args_has(&cli->args, switches[i][0])) {
            json_key(w, switches[i][1]);
            json_add_bool(w, true);
        }
    }
    return true;
}

static void print_changed(struct cli *cli, const char *asked, const struct json *answer) {
    CLEANUP(str_done) struct str line = STR_INIT;
    if (out_tree(cli, answer)) {
        return;
    }
    text_safe(&line, json_string(json_get(answer, "name"), asked));
    if (json_get(answer, "status") != NULL) {
        str_add_char(&line, ' ');
        job_add_line(&line, cli->out_colours, json_get(answer, "status"));
    } else {
        str_add(&line, " deleted");
    }
    puts(str_text(&line));
}

static bool change_one(struct cli *cli, const char *method, const char *job, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    struct json_writer w;
    struct arena a;
    const struct json *answer;
    arena_init(&a, 0);
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "job");
    call_write_ref(cli, &w, job);
    bool ok = write_flags(cli, &w, err);
    json_end_object(&w);
    ok = ok && call_unary(cli, method, &request, &a, &answer, err);
    if (ok) {
        print_changed(cli, job, answer);
    }
    arena_done(&a);
    return ok;
}

struct found {
    struct arena *arena;
    const char **uids;
    size_t count;
};

static void on_page(void *ctx, const struct json *response) {
    struct found *f = ctx;
    const struct json *jobs = json_get(response, "jobs");
    if (jobs == NULL) {
        return;
    }
    f->uids = mem_realloc_array(f->uids, f->count + jobs->count, sizeof *f->uids);
    JSON_EACH (job, jobs) {
        f->uids[f->count++] = arena_strdup(f->arena, json_string(json_get(job, "uid"), ""));
    }
}

// Each on its own: one that fails does not keep the others from being changed.
static int change_each(struct cli *cli, const char *method, const char *const *jobs, size_t n) {
    int status = CLI_OK;
    for (size_t i = 0; i < n; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (!change_one(cli, method, jobs[i], &err)) {
            int failed = cli_fail(cli, &err);
            status = status == CLI_OK ? failed : status;
        }
    }
    return status;
}

static int change(struct cli *cli, const char *method) {
    bool by_label = args_has(&cli->args, "selector");
    if (by_label == (cli->args.word_count > 0)) {
        return cli_usage(cli, "name jobs or give -l SELECTOR, one of the two: trainctl help %s", cli->command->name);
    }
    if (!by_label) {
        return change_each(cli, method, cli->args.words, cli->args.word_count);
    }
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str selector = STR_INIT;
    struct found f = {.arena = &cli->arena};
    pages_write_selector(cli, &selector);
    int status = CLI_OK;
    if (!pages_each(cli, &selector, 0, on_page, &f, &err)) {
        status = cli_fail(cli, &err);
    } else if (f.count == 0) {
        cli_note(cli, "no job matches");
    } else {
        status = change_each(cli, method, f.uids, f.count);
    }
    mem_free(f.uids);
    return status;
}

static int run_cancel(struct cli *cli) {
    return change(cli, "Cancel");
}

static int run_delete(struct cli *cli) {
    return change(cli, "Delete");
}

static int run_suspend(struct cli *cli) {
    return change(cli, "Suspend");
}

static int run_resume(struct cli *cli) {
    return change(cli, "Resume");
}

static int run_scale(struct cli *cli) {
    if (!args_has(&cli->args, "replicas")) {
        return cli_usage(cli, "say how many: trainctl scale JOB --replicas N");
    }
    return change(cli, "Scale");
}

const struct cli_command command_scale = {
    .name = "scale",
    .args = "JOB...",
    .summary = "give jobs another number of workers",
    .help =
        "For elastic jobs of pytorch, and for jax and paddle. A job of fixed size can be scaled while it is suspended.",
    .examples = "trainctl scale pytorch-4h7k2m9x --replicas 4",
    .flags = scale_flags,
    .flag_count = ARRAY_LEN(scale_flags),
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run_scale,
};

const struct cli_command command_cancel = {
    .name = "cancel",
    .args = "JOB...",
    .summary = "stop jobs for good; their records and logs stay",
    .help = "A job that has ended already stays as it is, and that is no error.",
    .examples = "trainctl cancel pytorch-4h7k2m9x\n"
                "trainctl cancel -l study=lr-sweep --early-stopped",
    .flags = cancel_flags,
    .flag_count = ARRAY_LEN(cancel_flags),
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run_cancel,
};

const struct cli_command command_delete = {
    .name = "delete",
    .args = "JOB...",
    .summary = "remove jobs with their records and logs",
    .help = "Refused while a job has not ended, unless with --force.",
    .examples = "trainctl delete pytorch-4h7k2m9x\n"
                "trainctl delete -l study=lr-sweep --force",
    .flags = delete_flags,
    .flag_count = ARRAY_LEN(delete_flags),
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run_delete,
};

const struct cli_command command_suspend = {
    .name = "suspend",
    .args = "JOB...",
    .summary = "stop the processes of jobs and keep the jobs for later",
    .help = "",
    .examples = "trainctl suspend pytorch-4h7k2m9x --reason \"the machine is needed\"",
    .flags = suspend_flags,
    .flag_count = ARRAY_LEN(suspend_flags),
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run_suspend,
};

const struct cli_command command_resume = {
    .name = "resume",
    .args = "JOB...",
    .summary = "start suspended jobs again, as a new attempt",
    .help = "",
    .examples = "trainctl resume pytorch-4h7k2m9x",
    .flags = resume_flags,
    .flag_count = ARRAY_LEN(resume_flags),
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run_resume,
};
