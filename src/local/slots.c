// CPU and GPU slots: what there is, what a job needs, who has what.
#include "local/executor.h"

#include "base/mem.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPU_DEFAULT_MILLI = 1000 };

static int32_t count_gpus(void) {
    glob_t found;
    int32_t n = glob("/dev/nvidia[0-9]*", GLOB_NOSORT, NULL, &found) == 0 ? (int32_t)found.gl_pathc : 0;
    globfree(&found);
    return n;
}

void slots_init(struct local *l) {
    l->cpu_total = l->options.cpu_slots_milli > 0 ? l->options.cpu_slots_milli : sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    l->gpu_total = l->options.gpu_slots >= 0 ? l->options.gpu_slots : count_gpus();
    l->gpu_taken = mem_zalloc((size_t)l->gpu_total * sizeof *l->gpu_taken);
}

static int64_t sum(int64_t a, int64_t b) {
    int64_t v;
    return __builtin_add_overflow(a, b, &v) ? INT64_MAX : v;
}

// A process that says nothing counts as one CPU; all together never more than there is, so that a job can run at all.
void slots_need(const struct local *l, const struct backend_plan *plan, int64_t *ret_cpu, int32_t *ret_gpu) {
    int64_t asked = 0;
    int64_t counted = 0;
    int64_t gpu = 0;
    for (size_t i = 0; i < plan->process_count; i++) {
        asked = sum(asked, plan->processes[i].cpu_milli);
        counted += plan->processes[i].cpu_milli != 0 ? 0 : CPU_DEFAULT_MILLI;
        gpu += plan->processes[i].gpu;
    }
    int64_t all = sum(asked, counted);
    *ret_cpu = all > l->cpu_total && asked <= l->cpu_total ? l->cpu_total : all;
    *ret_gpu = gpu < INT32_MAX ? (int32_t)gpu : INT32_MAX;
}

bool slots_check(const struct local *l, const struct backend_plan *plan, struct err *err) {
    int64_t cpu;
    int32_t gpu;
    slots_need(l, plan, &cpu, &gpu);
    if (cpu > l->cpu_total) {
        return err_fail(err, ERR_PRECONDITION, "NEVER_FITS",
                        "the job asks for %.6g CPUs and backend %s has %.6g (local.cpu)", (double)cpu / 1000,
                        l->base.name, (double)l->cpu_total / 1000);
    }
    if (gpu > l->gpu_total) {
        return err_fail(err, ERR_PRECONDITION, "NEVER_FITS",
                        "the job asks for %d GPUs and backend %s has %d (local.gpu)", gpu, l->base.name, l->gpu_total);
    }
    return true;
}

// ---- Take and give back

static void take_gpus(struct run *r, const struct plan_process *p, int32_t *next) {
    const struct local *l = r->local;
    struct proc *proc = &r->procs[p->rank];
    int32_t n = 0;
    if (proc->gpus != NULL) {
        return; // it runs already, with these
    }
    proc->gpus = mem_alloc(((size_t)p->gpu + 1) * sizeof *proc->gpus);
    for (; *next < l->gpu_total && n < p->gpu; (*next)++) {
        if (!l->gpu_taken[*next]) {
            l->gpu_taken[*next] = true;
            proc->gpus[n++] = *next;
        }
    }
    proc->gpus[n] = -1;
}

void slots_take(struct run *r) {
    struct local *l = r->local;
    int32_t next = 0;
    l->cpu_used += r->cpu_milli;
    l->gpu_used += r->gpus;
    l->running++;
    r->holds_slots = true;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        take_gpus(r, r->by_rank[i], &next);
    }
}

void slots_release(struct run *r) {
    struct local *l = r->local;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        for (const int32_t *id = r->procs[i].gpus; id != NULL && *id >= 0; id++) {
            l->gpu_taken[*id] = false;
        }
        mem_free(TAKE(r->procs[i].gpus));
    }
    if (r->holds_slots) {
        r->holds_slots = false;
        l->cpu_used -= r->cpu_milli;
        l->gpu_used -= r->gpus;
        l->running--;
        loop_defer(l->loop, &l->kick);
    }
}

// ---- What the supervisor keeps of them for a restarted daemon: ids, separated by commas

void slots_note(const struct run *r, uint32_t rank, struct str *out) {
    for (const int32_t *id = r->procs[rank].gpus; id != NULL && *id >= 0; id++) {
        str_printf(out, "%s%d", id == r->procs[rank].gpus ? "" : ",", *id);
    }
}

void slots_take_noted(struct run *r, uint32_t rank, const char *note) {
    const struct local *l = r->local;
    struct proc *proc = &r->procs[rank];
    int32_t most = r->by_rank[rank]->gpu;
    int32_t n = 0;
    const char *p = note;
    if (proc->gpus != NULL) {
        return;
    }
    proc->gpus = mem_alloc(((size_t)most + 1) * sizeof *proc->gpus);
    while (n < most) {
        char *end;
        long id = strtol(p, &end, 10);
        if (end == p) {
            break;
        }
        if (id >= 0 && id < l->gpu_total && !l->gpu_taken[id]) {
            l->gpu_taken[id] = true;
            proc->gpus[n++] = (int32_t)id;
        }
        p = *end == ',' ? end + 1 : end;
    }
    proc->gpus[n] = -1;
}
