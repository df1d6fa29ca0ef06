/* One program, ready to run; and the instruction sets that it may run with. */
#define _GNU_SOURCE
#include "engine.h"
#include "algebra.h"
#include "angles.h"
#include "memory.h"
#include "pieces.h"
#include "pool.h"
#include "program.h"
#include "qtj.h"
#include "room.h"
#include "walk.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- variants, the fastest first ---- */

extern const Variant variant_baseline, variant_baseline_double;
#if defined(__x86_64__)
extern const Variant variant_avx512, variant_avx512_double, variant_avx2, variant_avx2_double;

/* Each variant is compiled for a level of the x86-64 psABI; this asks for what these levels promise and GCC uses. */
static int has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

static int has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
#endif

static int always(void) { return 1; }

static const struct {
    const Variant *in_single, *in_double;
    int (*runs)(void);
} INSTRUCTIONS[] = {
#if defined(__x86_64__)
    {&variant_avx512, &variant_avx512_double, has_avx512},
    {&variant_avx2, &variant_avx2_double, has_avx2},
#endif
    {&variant_baseline, &variant_baseline_double, always},
};

static int is_named(const Variant *v, const char *name, const char *fastest) {
    return !strcmp(name, fastest) || !strcmp(name, v->name);
}

const Variant *find_variant(const char *name) {
    for (size_t i = 0; i < sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS; i++) {
        if (!INSTRUCTIONS[i].runs()) continue;
        if (is_named(INSTRUCTIONS[i].in_single, name, "")) return INSTRUCTIONS[i].in_single;
        if (is_named(INSTRUCTIONS[i].in_double, name, "double")) return INSTRUCTIONS[i].in_double;
    }
    return NULL;
}

static int processors(void) {
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) ? 1 : CPU_COUNT(&mine);
}

int default_threads(void) {
    const char *wanted = getenv("OMP_NUM_THREADS");
    long threads = wanted ? strtol(wanted, NULL, 10) : 0;
    if (threads < 1) threads = processors();
    return threads < MAX_THREADS ? (int)threads : MAX_THREADS;
}

/* ---- an engine ---- */

const char *make_engine(const File *file, const Program *program, const Variant *variant, int threads, Engine **out) {
    Engine *e = *out = calloc(1, sizeof *e);
    if (!e) return QTJ_NO_MEMORY;
    e->variant = variant;
    e->threads = threads;
    const char *problem = read_plan(e, file, program);
    if (!problem) problem = reserve_plan(e);
    if (!problem) return NULL;
    release(e);
    *out = NULL;
    return problem;
}

const char *engine_values(Engine *e, long batch, const double *inputs, const double *weights, double *values) {
    lend(e, batch);
    const char *problem = walk_forward(e, batch, inputs, weights, FOR_VALUES);
    if (problem) return problem;
    e->values = values;
    do_all(e, example_values, batch, 32);
    return NULL;
}

const char *engine_states(Engine *e, long batch, const double *inputs, const double *weights, double *states) {
    e->states = states;
    const char *problem = walk_forward(e, batch, inputs, weights, FOR_VALUES);
    e->states = NULL;
    return problem;
}

const char *engine_gradients(Engine *e, long batch, const double *inputs, const double *weights,
                             const double *upstream, double *by_inputs, double *by_weights) {
    const char *problem = is_known(e, batch, inputs, weights)
                              ? take_room_for_gradients(e)
                              : walk_forward(e, batch, inputs, weights, FOR_GRADIENTS);
    if (problem) return problem;
    e->upstream = upstream;
    walk_backward(e);
    find_slopes(e, by_inputs, by_weights);
    return NULL;
}
