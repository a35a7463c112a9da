// One plugin a rule: each is refused with exactly the sentence that says what is wrong.
#include "support.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *message; // message NULL: it loads
} rules[] = {
    {"good", NULL},
    {"optional_capability", NULL},
    {"misbehave", NULL},
    {"abi_1_0", NULL},
    {"bad_magic", "magic 12345678, expected 54504c31: this is not a descriptor of trainerd"},
    {"other_major", "abi 2.1, this host has 1.1"},
    {"newer_minor", "abi 1.9, this host has 1.1"},
    {"short_struct", "descriptor of 40 bytes, expected 168 to 168"},
    {"long_struct", "descriptor of 4096 bytes, expected 168 to 168"},
    {"flags_set", "flags 4 and reserved_zero 0, expected 0"},
    {"spare_set", "spare[2] is set, expected zero"},
    {"required_capability", "capability bits 0x80, which this host does not know and the plugin requires"},
    {"role_size", "role_size 8, expected 32 to 32"},
    {"target_size", "target_size 4000, expected 24 to 24"},
    {"functions_short", "functions_size 8, expected 48 to 48"},
    {"bad_name", "name \"Bad_Name\", expected [a-z][a-z0-9-]* of at most 63 bytes"},
    {"no_name", "name \"(not a text)\", expected [a-z][a-z0-9-]* of at most 63 bytes"},
    {"no_version", "version is missing or not one line of text of at most 4096 bytes"},
    {"text_with_newline", "description is missing or not one line of text of at most 4096 bytes"},
    {"no_functions", "functions is NULL, expected a table"},
    {"no_validate", "function validate is missing, it is mandatory"},
    {"no_plan_local", "function plan_local is missing, capability LOCAL needs it"},
    {"no_render", "function render is missing, capability RENDER needs it"},
    {"no_roles", "no roles, expected at least one"},
    {"bad_role_name", "roles[0].name \"Worker\", expected [a-z][a-z0-9-]* of at most 32 bytes"},
    {"role_twice", "role \"worker\" is in the table twice"},
    {"role_bounds", "role \"worker\" has min_replicas 4 above max_replicas 2"},
    {"role_restart", "role \"worker\" has restart policy 0, expected 1 to 4"},
    {"role_undescribed", "role \"worker\" has no description, expected one line of text"},
    {"no_targets", "no targets, expected at least one"},
    {"target_twice", "target \"local\" is in the table twice"},
    {"target_capability", "target \"batch/v1\" without capability RENDER"},
    {"target_suffix", "target \"local\" has a bad name_suffix, expected text with ${role} and ${index} or \"\""},
    {"bad_reserved", "reserved_env[1] \"*\", expected a name of [A-Za-z0-9_], or a prefix and *"},
    {"schema_keyword", "params_schema: schema: keyword \"oneOf\" is not supported"},
    {"schema_type", "params_schema: schema: \"type\" must be \"object\""},
    {"null_descriptor", "trainer_plugin_describe returned NULL"},
    {"no_symbol", "does not export trainer_plugin_describe"},
    {"create_fails", "create failed: directory: is needed in the configuration"},
    {"create_silent", "create failed without saying why"},
};

Test(descriptor, each_rule) {
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct plugins *p = plugins_new();
        struct err err = ERR_INIT;
        char *path = mem_printf("%s/%s.so", TEST_PLUGINS, rules[i].name);
        bool ok = plugins_load(p, path, NULL, &err);
        if (rules[i].message == NULL) {
            cr_expect(ok, "%s: %s", rules[i].name, err.message);
            cr_expect_eq(plugins_count(p), 1);
        } else {
            cr_expect(!ok, "%s was loaded", rules[i].name);
            cr_expect_str_eq(err.message != NULL ? err.message : "", rules[i].message, "%s: %s", rules[i].name,
                             err.message);
            cr_expect_eq(plugins_count(p), 0);
        }
        err_done(&err);
        mem_free(path);
        plugins_free(p);
    }
}

Test(descriptor, schema_that_is_not_json) {
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    cr_assert(!plugins_load(p, TEST_PLUGINS "/schema_not_json.so", NULL, &err));
    cr_expect(str_starts(err.message, "params_schema: line 1, column "), "%s", err.message);
    err_done(&err);
    plugins_free(p);
}

// ---- Files

static char directory[] = "/tmp/plugin-test-XXXXXX";

static void make_directory(void) {
    cr_assert_not_null(mkdtemp(directory));
}

static void remove_directory(void) {
    char *command = mem_printf("rm -rf %s", directory);
    cr_expect_eq(system(command), 0);
    mem_free(command);
}

static void copy_plugin(const char *name, const char *as, mode_t mode) {
    char *command =
        mem_printf("cp %s/%s.so %s/%s && chmod %o %s/%s", TEST_PLUGINS, name, directory, as, mode, directory, as);
    cr_assert_eq(system(command), 0, "%s", command);
    mem_free(command);
}

static char *refusal(struct plugins *p, const char *file) {
    struct err err = ERR_INIT;
    char *path = mem_printf("%s/%s", directory, file);
    char *message = mem_strdup(plugins_load(p, path, NULL, &err) ? "(loaded)" : err.message);
    err_done(&err);
    mem_free(path);
    return message;
}

static void expect_refusal(struct plugins *p, const char *file, const char *expected) {
    char *message = refusal(p, file);
    cr_expect_str_eq(message, expected, "%s: %s", file, message);
    mem_free(message);
}

Test(files, permissions_and_kinds, .init = make_directory, .fini = remove_directory) {
    struct plugins *p = plugins_new();
    char text[64];
    copy_plugin("good", "world.so", 0757);
    copy_plugin("good", "group.so", 0664);
    char *path = mem_printf("%s/text.so", directory);
    FILE *f = fopen(path, "w");
    fputs("this is not a program\n", f);
    fclose(f);
    cr_assert_eq(chmod(path, 0644), 0);
    mem_free(path);
    path = mem_printf("%s/directory.so", directory);
    cr_assert_eq(mkdir(path, 0755), 0);
    mem_free(path);
    path = mem_printf("%s/fifo.so", directory);
    cr_assert_eq(mkfifo(path, 0600), 0);
    mem_free(path);
    expect_refusal(p, "world.so", "has mode 0757, expected one that group and others cannot write");
    expect_refusal(p, "group.so", "has mode 0664, expected one that group and others cannot write");
    expect_refusal(p, "text.so", "cannot be loaded: file too short");
    expect_refusal(p, "directory.so", "is not a regular file");
    expect_refusal(p, "fifo.so", "is not a regular file");
    expect_refusal(p, "missing.so", "cannot be opened: No such file or directory");
    if (geteuid() == 0) {
        copy_plugin("good", "other.so", 0755);
        path = mem_printf("%s/other.so", directory);
        cr_assert_eq(chown(path, 12345, 0), 0);
        mem_free(path);
        snprintf(text, sizeof text, "belongs to user 12345, expected root or %u", geteuid());
        expect_refusal(p, "other.so", text);
    }
    cr_expect_eq(plugins_count(p), 0);
    plugins_free(p);
}

Test(files, same_file_and_same_name, .init = make_directory, .fini = remove_directory) {
    struct plugins *p = plugins_new();
    copy_plugin("good", "a.so", 0755);
    copy_plugin("same_name", "b.so", 0755);
    char *from = mem_printf("%s/a.so", directory);
    char *to = mem_printf("%s/link.so", directory);
    cr_assert_eq(symlink(from, to), 0);
    mem_free(to);
    to = mem_printf("%s/hard.so", directory);
    cr_assert_eq(link(from, to), 0);
    mem_free(to);
    mem_free(from);
    expect_refusal(p, "a.so", "(loaded)");
    expect_refusal(p, "a.so", "is the same file as a.so, which is loaded");
    expect_refusal(p, "link.so", "is the same file as a.so, which is loaded");
    expect_refusal(p, "hard.so", "is the same file as a.so, which is loaded");
    expect_refusal(p, "b.so", "runtime \"good\" is already provided by a.so");
    cr_expect_eq(plugins_count(p), 1);
    plugins_free(p);
}

Test(files, a_bad_one_spoils_no_other, .init = make_directory, .fini = remove_directory) {
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    copy_plugin("misbehave", "z.so", 0755);
    copy_plugin("bad_magic", "b.so", 0755);
    copy_plugin("good", "c.so", 0755);
    copy_plugin("good", ".hidden.so", 0755);
    copy_plugin("good", "notes.txt", 0755);
    cr_assert(plugins_load_directory(p, directory, NULL, &err), "%s", err.message);
    cr_assert_eq(plugins_count(p), 2);
    cr_expect_str_eq(plugins_at(p, 0)->plugin->name, "good");
    cr_expect_str_eq(plugins_at(p, 1)->plugin->name, "misbehave");
    cr_expect_str_eq(plugins_at(p, 1)->file, "z.so");
    cr_expect_str_eq(plugins_at(p, 1)->abi, "1.1");
    cr_expect_null(plugins_at(p, 2));
    cr_expect_eq(plugins_find(p, "good"), plugins_at(p, 0));
    cr_expect_null(plugins_find(p, "goods"));
    cr_expect_null(plugins_find(p, NULL));
    cr_expect_str_eq(plugins_nearest(p, "goods"), "good");
    cr_expect_null(plugins_nearest(p, "tensorflow"));
    const struct plugin_failure *failures;
    cr_assert_eq(plugins_failures(p, &failures), 1);
    cr_expect_str_eq(failures[0].file, "b.so");
    cr_expect_str_eq(failures[0].message, "magic 12345678, expected 54504c31: this is not a descriptor of trainerd");
    plugins_free(p);
}

Test(files, a_directory_that_is_not_there) {
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    cr_assert(!plugins_load_directory(p, "/nowhere/plugins", NULL, &err));
    cr_expect_str_eq(err.message, "cannot read /nowhere/plugins: No such file or directory");
    err_done(&err);
    plugins_free(p);
}

// All runtimes of the project load, and say what they are.
Test(runtimes, load) {
    static const char *const names[] = {"jax", "mpi", "paddle", "process", "pytorch", "tensorflow", "xgboost"};
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    const struct plugin_failure *failures;
    cr_assert(plugins_load_directory(p, RUNTIMES, NULL, &err), "%s", err.message);
    cr_assert_eq(plugins_failures(p, &failures), 0);
    cr_assert_eq(plugins_count(p), ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct runtime *r = plugins_at(p, i);
        cr_expect_str_eq(r->plugin->name, names[i]);
        cr_expect(runtime_has_target(r, "local"));
        cr_expect_eq(runtime_has_target(r, "kubeflow.org/v1"), strcmp(names[i], "process") != 0);
        cr_expect_eq(runtime_name_limit(r, NULL, "local"), 63);
        cr_expect_not_null(r->params_schema);
    }
    plugins_free(p);
}
