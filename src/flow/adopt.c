// A job that the cluster has and the journal has not: the daemon went between the cluster's yes and its own writing, or
// another daemon made it. What it is stands on its object.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#include <string.h>

static bool is_known(struct flow *f, const struct backend_found *found) {
    return job_table_by_uid(f->table, found->uid) != NULL ||
           job_table_by_name(f->table, found->namespace_, found->name) != NULL;
}

void flow_adopt(struct flow *f, struct backend *b, const struct backend_found *found) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str labels = STR_INIT;
    struct job_spec *spec = NULL;
    if (is_known(f, found)) {
        return; // it is being made just now, or its name is taken by one that is
    }
    if (found->spec_json == NULL || !job_spec_parse_text(found->spec_json, strlen(found->spec_json), &spec, &err)) {
        log_warn("flow", "job %s/%s in backend %s is not known here, and its object does not say what it is: %s",
                 found->namespace_, found->name, b->name, err_set(&err) ? err.message : "no spec on it");
        return;
    }
    if (spec->labels != NULL && spec->labels->count != 0) {
        json_write_canonical(&labels, spec->labels);
    }
    struct job *job = job_table_add(
        f->table, &(struct job_new){.uid = found->uid,
                                    .name = found->name,
                                    .namespace_ = found->namespace_,
                                    .runtime = spec->runtime,
                                    .backend = b->name,
                                    .target = found->target,
                                    .group = spec->group,
                                    .labels_json = labels.len != 0 ? str_text(&labels) : NULL,
                                    .request_id = found->request_id,
                                    .spec_hash = spec->hash,
                                    .created_ns = found->created_ns != 0 ? found->created_ns : clock_wall(),
                                    .spec = spec});
    job_spec_unref(spec);
    log_info("flow", "job %s/%s was found in backend %s and is taken over", job->namespace_, job->name, b->name);
    (void)flow_job_of(f, job);
    flow_accept(f, job);
}
