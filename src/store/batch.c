// What is written together, collected on the loop thread.
#include "store/internal.h"

#include "base/mem.h"

struct store_batch *store_batch_new(void) {
    struct store_batch *b = NEW(struct store_batch);
    arena_init(&b->arena, 0);
    return b;
}

void store_batch_free(struct store_batch *b) {
    if (b == NULL) {
        return;
    }
    arena_done(&b->arena);
    mem_free(b->jobs);
    mem_free(b->transitions);
    mem_free(b);
}

static void *grow(void *array, size_t count, size_t *cap, size_t size) {
    if (count == *cap) {
        *cap = *cap != 0 ? *cap * 2 : 1;
        array = mem_realloc_array(array, *cap, size);
    }
    return array;
}

void store_batch_add_job(struct store_batch *b, const struct store_job *job) {
    b->jobs = grow(b->jobs, b->job_count, &b->job_cap, sizeof *b->jobs);
    struct store_job *copy = &b->jobs[b->job_count++];
    *copy = *job;
    store_keep_job(copy, &b->arena);
}

void store_batch_add_transition(struct store_batch *b, const struct store_transition *t) {
    b->transitions = grow(b->transitions, b->transition_count, &b->transition_cap, sizeof *b->transitions);
    struct store_transition *copy = &b->transitions[b->transition_count++];
    *copy = *t;
    store_keep_transition(copy, &b->arena);
}

size_t store_batch_count(const struct store_batch *b) {
    return b->transition_count;
}
