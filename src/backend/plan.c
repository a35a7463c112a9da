#include "backend/backend.h"

#include "base/mem.h"

struct backend_plan *backend_plan_ref(struct backend_plan *plan) {
    plan->refs++;
    return plan;
}

void backend_plan_unref(struct backend_plan *plan) {
    if (plan == NULL || --plan->refs != 0) {
        return;
    }
    // The plan itself lives on the heap, everything it points to in its arena.
    arena_done(&plan->arena);
    mem_free(plan);
}
