/* Loads well and then does one wrong thing, which the parameter `how` names; and the right things that need a plugin
 * of their own to be seen (render, observe, a target with a suffix, violations mapped to the user's roles). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "good.h"

static int is(const struct trainer_host *host, const struct trainer_value *spec, const char *how) {
    return strcmp(host->text(host->get(spec, "params.how"), ""), how) == 0;
}

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)self;
    if (is(host, spec, "fail silently")) {
        return TRAINER_FAILED;
    }
    if (is(host, spec, "other status")) {
        return 7;
    }
    if (is(host, spec, "report and return ok")) {
        (void)host->fail(errors, "", "says no");
        return TRAINER_OK;
    }
    if (is(host, spec, "report twice")) {
        (void)host->fail_with(errors, "roles[0].image", "must be %s", "newer");
        return host->fail(errors, "roles[1].image", "must be older");
    }
    if (is(host, spec, "report nonsense")) {
        return host->fail(errors, NULL, "two\nlines");
    }
    if (is(host, spec, "crash")) {
        abort();
    }
    if (is(host, spec, "exit")) {
        exit(3);
    }
    if (is(host, spec, "hang")) {
        for (;;) {
            nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        }
    }
    if (is(host, spec, "slow")) {
        nanosleep(&(struct timespec){.tv_nsec = 80 * 1000 * 1000}, NULL);
    }
    return TRAINER_OK;
}

struct step {
    const char *how;
    void (*run)(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *spec,
                const struct trainer_value *lead);
};

#define STEP(name)                                                                                                     \
    static void name(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *spec,      \
                     const struct trainer_value *lead)

static void one(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *role,
                int64_t index, int64_t rank) {
    host->plan_process(w, role, index, rank, 1);
    host->plan_process_end(w);
}

STEP(no_process) {
    (void)host, (void)w, (void)spec, (void)lead;
}
STEP(no_decider) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 0);
    host->plan_process_end(w);
}
STEP(rank_gap) {
    (void)spec;
    one(host, w, lead, 0, 1);
}
STEP(rank_twice) {
    one(host, w, lead, 0, 0);
    one(host, w, host->get(spec, "roles[name=worker]"), 0, 0);
}
STEP(rank_beyond) {
    (void)spec;
    one(host, w, lead, 0, 2);
}
STEP(index_twice) {
    (void)spec;
    one(host, w, lead, 0, 0);
    one(host, w, lead, 0, 1);
}
STEP(index_beyond) {
    (void)spec;
    one(host, w, lead, 1, 0);
}
STEP(foreign_role) {
    (void)lead;
    one(host, w, host->get(spec, "params"), 0, 0);
}
STEP(null_role) {
    (void)spec, (void)lead;
    one(host, w, NULL, 0, 0);
}
STEP(open_process) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
}
STEP(nested_process) {
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_process(w, host->get(spec, "roles[name=worker]"), 0, 1, 1);
}
STEP(env_outside) {
    (void)spec, (void)lead;
    host->plan_env(w, "A", "1");
}
STEP(env_twice) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env(w, "A", "1");
    host->plan_env_integer(w, "A", 2);
}
STEP(env_name) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env(w, "A=B", "1");
}
STEP(env_utf8) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env(w, "A", "\xff");
}
STEP(env_null) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env(w, "A", NULL);
}
STEP(template_name) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_template(w, "A", "${hots}");
}
STEP(template_port) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_template(w, "A", "${port.A b}");
}
STEP(template_end) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_template(w, "A", "${port.a");
}
STEP(env_json) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_begin(w, "A");
    host->begin_object(w);
    host->plan_env_end(w);
}
STEP(env_unended) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_begin(w, "A");
    host->plan_process_end(w);
}
STEP(env_unbegun) {
    (void)spec;
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_add(w, "A");
}
STEP(json_in_plan) {
    (void)spec, (void)lead;
    host->begin_object(w);
}
STEP(huge) {
    char text[64 * 1024];
    (void)spec;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    host->plan_process(w, lead, 0, 0, 1);
    for (int i = 0; i < 1000; i++) {
        host->plan_arg(w, text);
    }
    host->plan_process_end(w);
}
STEP(long_variable) {
    char text[64 * 1024];
    (void)spec;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_env_begin(w, "A");
    host->plan_env_add(w, text);
    host->plan_env_add(w, text);
    host->plan_env_add(w, text);
    host->plan_env_end(w);
    host->plan_process_end(w);
}
/* Right, with everything that the other plugins do not use. */
STEP(everything) {
    host->plan_process(w, lead, 0, 0, 1);
    host->plan_arg(w, "launch");
    host->plan_arg(w, "${host}");
    host->plan_resources(w, host->get(spec, "roles[name=worker]"), host->replicas(spec, "worker"));
    host->plan_env(w, "LITERAL", "${host} ${port.x}");
    host->plan_env(w, "PYTHONUNBUFFERED", "1");
    host->plan_env_template(w, "PLAIN", "no placeholder");
    host->plan_env_begin(w, "LIST");
    host->begin_array(w);
    host->put_text(w, "\"${port.b}\"");
    host->put_integer(w, -1);
    host->put_number(w, 0.5);
    host->put_boolean(w, 1);
    host->put_value(w, host->get(spec, "params"));
    host->put_value(w, NULL);
    host->end_array(w);
    host->plan_env_end(w);
    host->plan_env_template(w, "PORTS", "${port.a} ${port.b} ${host}");
    host->plan_process_end(w);
}

static const struct step steps[] = {
    {"no process", no_process},
    {"no decider", no_decider},
    {"rank gap", rank_gap},
    {"rank twice", rank_twice},
    {"rank beyond", rank_beyond},
    {"index twice", index_twice},
    {"index beyond", index_beyond},
    {"foreign role", foreign_role},
    {"null role", null_role},
    {"open process", open_process},
    {"nested process", nested_process},
    {"env outside", env_outside},
    {"env twice", env_twice},
    {"env name", env_name},
    {"env utf8", env_utf8},
    {"env null", env_null},
    {"template name", template_name},
    {"template port", template_port},
    {"template end", template_end},
    {"env json", env_json},
    {"env unended", env_unended},
    {"env unbegun", env_unbegun},
    {"json in plan", json_in_plan},
    {"huge", huge},
    {"long variable", long_variable},
    {"everything", everything},
};

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    if (is(host, spec, "plan says no")) {
        return host->fail(errors, "roles[1].command", "does not fit");
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (is(host, spec, steps[i].how)) {
            steps[i].run(host, w, spec, host->get(spec, "roles[name=lead]"));
        }
    }
    return TRAINER_OK;
}

static int32_t render(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                      const char *target, struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    (void)errors;
    if (is(host, spec, "render nothing")) {
        return TRAINER_OK;
    }
    host->begin_object(w);
    host->put_key(w, "kind");
    host->put_text(w, is(host, spec, "render utf8") ? "\xc3" : target);
    if (is(host, spec, "render without key")) {
        host->put_text(w, "lost");
    }
    for (int i = 0; is(host, spec, "render huge") && i < 1000000; i++) {
        host->put_key(w, "k");
        host->put_text(w, "0123456789");
    }
    if (is(host, spec, "render copies")) {
        host->put_key(w, "roles");
        host->put_value(w, host->get(spec, "roles"));
    }
    if (is(host, spec, "render with a plan service")) {
        host->plan_process_end(w);
    }
    if (!is(host, spec, "render unbalanced")) {
        host->end_object(w);
    }
    return TRAINER_OK;
}

static int32_t observe(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *object,
                       const char *target, struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    (void)target;
    (void)errors;
    host->begin_object(w);
    host->put_key(w, "state");
    host->put_text(w, host->text(host->get(object, "status.conditions[type=Done].status"), "Unknown"));
    host->end_object(w);
    return TRAINER_OK;
}

static const struct trainer_role roles[] = {
    {"lead", "leads", 0, 1, 1, TRAINER_RESTART_NEVER},
    {"worker", "works", 0, 1, 0, TRAINER_RESTART_EXIT_CODE},
    {NULL, NULL, 0, 0, 0, 0},
};
static const struct trainer_target targets[] = {
    {"example.org/v1", "Example", "-${role}-${index}"}, {"local", "processes", ""}, {NULL, NULL, NULL}};
static const char *const reserved[] = {"RANK", "EX_*", NULL};
static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

DESCRIBE(.name = "misbehave", .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER, .roles = roles,
         .targets = targets, .functions = &functions, .reserved_env = reserved,
         .params_schema = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": "
                          "{\"how\": {\"type\": \"string\"}}}")
