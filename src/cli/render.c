#include "cli/commands.h"
#include "cli/document.h"
#include "cli/internal.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

static const struct cli_flag flags[] = {
    {"file", "f", "FILE", "job file, \"-\" for stdin", NULL, WORDS_FILE},
    {"target", NULL, "NAME", "what it becomes there, as kubeflow.org/v1, local; \"*\": all that the runtime has", NULL,
     WORDS_NONE},
    {"name", NULL, "NAME", "instead of the name in the file", NULL, WORDS_NONE},
    {"backend", NULL, "NAME", "instead of the backend in the file", NULL, WORDS_NONE},
};

// One object as a document that kubectl reads, with what it is in a comment.
static void print_object(struct cli *cli, const struct json *rendered, const struct json *object) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str title = STR_INIT;
    if (cli->output == OUTPUT_JSON) {
        (void)out_tree(cli, object);
        return;
    }
    str_printf(&title, "%s %s", json_string(json_get(rendered, "target"), ""),
               json_string(json_get(rendered, "kind"), ""));
    str_add(&text, "---\n# ");
    text_safe(&text, str_text(&title));
    str_add(&text, json_bool(json_get(rendered, "chosen"), false) ? " (what submit would take)\n" : "\n");
    json_write_yaml(&text, object);
    fputs(str_text(&text), stdout);
}

static bool print_rendered(struct cli *cli, const struct json *rendered) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const char *text = json_string(json_get(rendered, "json"), "");
    const struct json *object;
    if (text[0] == '\0') {
        cli_note(cli, "%s: %s", json_string(json_get(rendered, "target"), "?"),
                 json_string(json_get(rendered, "error"), "cannot express this job"));
        return false;
    }
    if (!json_parse(&cli->arena, text, strlen(text), &call_limits, &object, &err)) {
        (void)cli_fail(cli, &err);
        return false;
    }
    print_object(cli, rendered, object);
    return true;
}

static int render_one(struct cli *cli, const struct document *doc) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    struct json_writer w;
    const struct json *answer;
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "spec");
    document_write_spec(cli, doc, &w);
    json_key(&w, "target");
    json_add_string(&w, args_text(&cli->args, "target", ""));
    json_end_object(&w);
    if (!call_unary(cli, "Render", &request, &cli->arena, &answer, &err)) {
        document_locate(doc, &err);
        return cli_fail(cli, &err);
    }
    JSON_EACH (warning, json_get(answer, "warnings")) {
        cli_note(cli, "warning: %s", json_string(warning, ""));
    }
    bool any = false;
    JSON_EACH (rendered, json_get(answer, "rendered")) {
        any = print_rendered(cli, rendered) || any;
    }
    return any ? CLI_OK : CLI_FAILED;
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct document *documents;
    size_t n;
    const char *file = args_text(&cli->args, "file", NULL);
    if (file == NULL) {
        return cli_usage(cli, "no job file: trainctl render -f FILE");
    }
    if (!document_read(cli, file, &documents, &n, &err)) {
        return cli_fail(cli, &err);
    }
    int status = CLI_OK;
    for (size_t i = 0; i < n; i++) {
        int one = render_one(cli, &documents[i]);
        status = status == CLI_OK ? one : status;
    }
    return status;
}

const struct cli_command command_render = {
    .name = "render",
    .args = "-f FILE",
    .summary = "show what a job file becomes: the Kubernetes object or the processes",
    .help = "Nothing is created, and no cluster is asked. The output is YAML; with -o json, JSON.",
    .examples = "trainctl render -f job.yaml\n"
                "trainctl render -f job.yaml --target '*'\n"
                "trainctl render -f job.yaml --target kubeflow.org/v1 | kubectl apply -f -",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .run = run,
};
