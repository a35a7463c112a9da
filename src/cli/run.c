#include "base/id.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/internal.h"
#include "cli/spec.h"

#include <stdio.h>

static const struct cli_flag flags[] = {
    {"runtime", NULL, "RUNTIME", "pytorch, tensorflow, xgboost, mpi, jax, ...; default process", NULL, WORDS_RUNTIME},
    {"workers", NULL, "N", "workers, besides the master or launcher that the runtime needs", NULL, WORDS_NONE},
    {"replicas", NULL, "ROLE=N", "how many of another role; may be given again", NULL, WORDS_NONE},
    {"nproc", NULL, "N", "processes a replica, where the runtime knows it; a number, or auto", NULL, WORDS_NONE},
    {"name", NULL, "NAME", "of the job; default the runtime's and something random", NULL, WORDS_NONE},
    {"env", "e", "NAME[=VALUE]", "environment variable; without VALUE, from here; may be given again", NULL,
     WORDS_NONE},
    {"cpu", NULL, "N", "CPUs a replica: 2, 500m", NULL, WORDS_NONE},
    {"memory", NULL, "SIZE", "memory a replica: 4Gi", NULL, WORDS_NONE},
    {"gpu", NULL, "N", "GPUs a replica", NULL, WORDS_NONE},
    {"image", NULL, "IMAGE", "container image, where containers run", NULL, WORDS_NONE},
    {"working-dir", NULL, "DIR", "default the current directory; with --image the image's", NULL, WORDS_DIRECTORY},
    {"backend", NULL, "NAME", "where it runs; default the server's first", NULL, WORDS_NONE},
    {"target", NULL, "NAME", "what it becomes there, as kubeflow.org/v1; default the runtime's first", NULL,
     WORDS_NONE},
    {"param", NULL, "NAME=VALUE", "parameter of the runtime; may be given again", NULL, WORDS_NONE},
    {"label", "l", "NAME=VALUE", "label; may be given again", NULL, WORDS_NONE},
    {"group", NULL, "GROUP", "group of the job", NULL, WORDS_NONE},
    {"restart", NULL, "POLICY", "never, on_failure, always or exit_code; default the runtime's",
     "never|on_failure|always|exit_code", WORDS_NONE},
    {"retries", NULL, "N", "restarts before the job fails", NULL, WORDS_NONE},
    {"timeout", NULL, "DURATION", "the job fails when it runs longer: 90s, 10m, 2h", NULL, WORDS_NONE},
    {"request-id", NULL, "KEY", "idempotency key: the same key gives the same job, however often", NULL, WORDS_NONE},
    {"detach", "d", NULL, "do not stay: print the name and end", NULL, WORDS_NONE},
    {"dry-run", NULL, NULL, "print the job file instead, for trainctl submit -f", NULL, WORDS_NONE},
};

static bool get_runtime(struct cli *cli, const struct json **ret, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    struct json_writer w;
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "name");
    json_add_string(&w, args_text(&cli->args, "runtime", "process"));
    json_end_object(&w);
    return call_unary(cli, "GetRuntime", &request, &cli->arena, ret, err);
}

static void write_request(const struct cli *cli, const struct str *spec, struct str *out) {
    const char *key = args_text(&cli->args, "request-id", NULL);
    char random[ID_UID_LEN + 1];
    struct json_writer w;
    id_uid(random);
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, "spec");
    json_add_raw(&w, str_text(spec));
    json_key(&w, "request_id");
    json_add_string(&w, key != NULL ? key : random);
    json_end_object(&w);
}

static int print_spec(struct cli *cli, const struct str *spec, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *tree;
    if (!json_parse(&cli->arena, str_text(spec), spec->len, &call_limits, &tree, err)) {
        return cli_fail(cli, err);
    }
    if (!out_tree(cli, tree)) {
        json_write_yaml(&text, tree);
        fputs(str_text(&text), stdout);
    }
    return CLI_OK;
}

static int detach(struct cli *cli, const struct str *request, struct err *err) {
    const struct json *answer;
    if (!call_unary(cli, "Submit", request, &cli->arena, &answer, err)) {
        return cli_fail(cli, err);
    }
    JSON_EACH (warning, json_get(answer, "warnings")) {
        cli_note(cli, "warning: %s", json_string(warning, ""));
    }
    if (!out_tree(cli, answer)) {
        puts(json_string(json_path(answer, "job.name"), ""));
    }
    return CLI_OK;
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str spec = STR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    const struct json *runtime;
    if (!server_ensure(cli, &err) || !get_runtime(cli, &runtime, &err) || !spec_from_flags(cli, runtime, &spec, &err)) {
        return cli_fail(cli, &err);
    }
    if (args_has(&cli->args, "dry-run")) {
        return print_spec(cli, &spec, &err);
    }
    write_request(cli, &spec, &request);
    return args_has(&cli->args, "detach") ? detach(cli, &request, &err) : follow_submit(cli, &request, NULL);
}

const struct cli_command command_run = {
    .name = "run",
    .args = "-- PROGRAM [ARGUMENT...]",
    .summary = "run a program as a job and stay with it: states, logs, its exit status",
    .help =
        "Every replica runs the same program; the runtime gives each its rank in the environment. --workers 2 with\n"
        "pytorch is one master and two workers. Where no server is, one is started for you.\n"
        "Ctrl-C asks whether to detach or to cancel; a second Ctrl-C detaches. The exit status is 0 for SUCCEEDED,\n"
        "the exit code of the process that failed or 128 + its signal, 130 for CANCELED, 4 after detaching.",
    .examples = "trainctl run -- echo hello\n"
                "trainctl run --runtime pytorch --workers 2 -- python3 train.py --epochs 3\n"
                "trainctl run --runtime tensorflow --workers 2 --replicas ps=1 -- python3 train.py\n"
                "trainctl run --detach --timeout 2h -e WANDB_MODE=offline -- ./train.sh",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .program = true,
    .words = WORDS_FILE,
    .run = run,
};
