// Golden files: tests/golden/plans/NAME.yaml becomes its local plan NAME.json, byte for byte, and tests/golden/renders/
// its object of kubeflow.org/v1. NAME begins with the runtime.
// TRAINERD_GOLDEN=write makes them anew; look at the difference before you commit it.
#include "support.h"

#include "base/fd.h"

#include <dirent.h>
#include <stdlib.h>

#define GOLDEN TRAINERD_SOURCE_DIR "/tests/golden/"

static char *read_text(const char *path) {
    struct err err = ERR_INIT;
    struct str text = STR_INIT;
    cr_assert(fd_read_file(path, 1 << 20, &text, &err), "%s", err.message);
    return str_take(&text);
}

typedef bool make_fn(const struct runtime *r, const struct json *tree, struct str *out, struct err *err);

static bool render(const struct runtime *r, const struct json *tree, struct str *out, struct err *err) {
    return runtime_render(r, tree, "kubeflow.org/v1", out, err);
}

// What a spec becomes, checked to be the same the second time, for people to read.
static char *made_of(struct plugins *p, const char *yaml, make_fn *make) {
    struct err err = ERR_INIT;
    struct arena a = {0};
    struct str first = STR_INIT;
    struct str second = STR_INIT;
    struct str pretty = STR_INIT;
    const struct json *tree = NULL;
    struct job_spec *spec = spec_of(yaml);
    const struct runtime *r = plugins_find(p, spec->runtime);
    cr_assert_not_null(r, "%s", spec->runtime);
    cr_assert(runtime_validate(r, spec, &a, &tree, &err), "%s", err.message);
    cr_assert(make(r, tree, &first, &err), "%s", err.message);
    cr_assert(make(r, tree, &second, &err), "%s", err.message);
    cr_expect_str_eq(str_text(&first), str_text(&second));
    json_write_pretty(&pretty, parse(&a, str_text(&first)));
    str_done(&first);
    str_done(&second);
    arena_done(&a);
    job_spec_unref(spec);
    return str_take(&pretty);
}

static int is_spec(const struct dirent *d) {
    return str_ends(d->d_name, ".yaml");
}

static void check_directory(const char *directory, make_fn *make) {
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    struct dirent **files;
    cr_assert(plugins_load_directory(p, RUNTIMES, NULL, &err), "%s", err.message);
    int n = scandir(directory, &files, is_spec, alphasort);
    cr_assert_geq(n, 7);
    for (int i = 0; i < n; i++) {
        char *spec_path = mem_printf("%s/%s", directory, files[i]->d_name);
        char *plan_path = mem_printf("%.*s.json", (int)(strlen(spec_path) - strlen(".yaml")), spec_path);
        char *yaml = read_text(spec_path);
        char *plan = made_of(p, yaml, make);
        if (str_same(getenv("TRAINERD_GOLDEN"), "write")) {
            cr_assert(fd_write_file(plan_path, plan, strlen(plan), 0644, &err), "%s", err.message);
        }
        char *golden = read_text(plan_path);
        cr_expect_str_eq(plan, golden, "%s", files[i]->d_name);
        mem_free(golden);
        mem_free(plan);
        mem_free(yaml);
        mem_free(plan_path);
        mem_free(spec_path);
        free(files[i]);
    }
    free(files);
    plugins_free(p);
}

Test(golden, plans) {
    check_directory(GOLDEN "plans", runtime_plan_local);
}

Test(golden, renders) {
    check_directory(GOLDEN "renders", render);
}
