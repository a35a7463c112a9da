// Find, list, spec: what is asked of the table, and of the journal where the table does not keep it.
#include "flow/internal.h"

#include "base/mem.h"
#include "base/str.h"

static bool visible(const struct job *job) {
    return job != NULL && job->seen != NULL && !job->deleted;
}

bool flow_find(struct flow *f, const struct flow_job_ref *ref, struct job **ret, struct err *err) {
    const char *namespace_ = str_is_empty(ref->namespace_) ? "default" : ref->namespace_;
    struct job *job = NULL;
    if (!str_is_empty(ref->uid)) {
        job = job_table_by_uid(f->table, ref->uid);
    } else if (!str_is_empty(ref->name)) {
        job = job_table_by_name(f->table, namespace_, ref->name);
    } else {
        return err_violate(err, "job", "set uid, or name (with namespace, default \"default\")");
    }
    if (visible(job)) {
        *ret = job;
        return true;
    }
    bool by_uid = !str_is_empty(ref->uid);
    err_fail(err, ERR_NOT_FOUND, "JOB_NOT_FOUND",
             by_uid ? "there is no job with uid %.64s" : "there is no job %.64s in namespace %.64s",
             by_uid ? ref->uid : ref->name, namespace_);
    err_resource(err, "trainer.v1.Job", by_uid ? ref->uid : ref->name);
    return false;
}

// ---- List
// ---------------------------------------------------------------------------------------------------------------------------

static bool listed(const struct job_selector *s, const struct job *job) {
    return visible(job) && job_selector_matches(s, job) && job_selector_wants_state(s, job->seen->state);
}

void flow_list(struct flow *f, const struct job_selector *selector, int64_t before, size_t page_size,
               struct flow_page *ret) {
    if (f->page_cap < page_size) {
        f->page = mem_realloc_array(f->page, page_size, sizeof(struct job *));
        f->page_cap = page_size;
    }
    *ret = (struct flow_page){.jobs = f->page, .sequence = job_feed_last(f->feed)};
    for (struct job *j = job_table_next_older(f->table, 0); j != NULL; j = job_table_next_older(f->table, j->ordinal)) {
        if (!listed(selector, j)) {
            continue;
        }
        ret->total++;
        if (before != 0 && j->ordinal >= before) {
            continue;
        }
        if (ret->count < page_size) {
            f->page[ret->count++] = j;
        } else if (ret->next == 0) {
            ret->next = f->page[ret->count - 1]->ordinal;
        }
    }
}

// ---- Spec
// ---------------------------------------------------------------------------------------------------------------------------

struct spec_read {
    struct flow_op op; // first: what flow_op_cancel gets
    struct store_read *read;
    flow_spec_fn *fn;
};

static void spec_answer(void *ctx, const char *spec_json, const struct err *err) {
    struct spec_read *r = ctx;
    list_remove(&r->op.link);
    r->fn(r->op.fn_ctx, spec_json, err);
    mem_free(r);
}

static void spec_cancel(struct flow_op *op) {
    struct spec_read *r = CONTAINER_OF(op, struct spec_read, op);
    store_cancel(r->read);
    list_remove(&op->link);
    mem_free(r);
}

struct flow_op *flow_spec(struct flow *f, struct job *job, flow_spec_fn *fn, void *ctx) {
    if (job->spec != NULL) {
        fn(ctx, job->spec->json, NULL);
        return NULL;
    }
    struct spec_read *r = NEW(struct spec_read);
    r->fn = fn;
    r->op = (struct flow_op){.fn_ctx = ctx, .cancel = spec_cancel};
    list_push(&f->specs, &r->op.link);
    r->read = store_read_spec(f->store, job->uid, spec_answer, r);
    return &r->op;
}
