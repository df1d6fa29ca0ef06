/* The C interface. Every call returns NULL, or a sentence about what went wrong; memory is taken before work begins. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char BAD_BATCH[] = "the batch is too large";

/* ---- variants, the fastest first ---- */

extern const Variant variant_baseline;
#if defined(__x86_64__)
extern const Variant variant_avx512, variant_avx2;
static const Variant *const VARIANTS[] = {&variant_avx512, &variant_avx2, &variant_baseline};
#else
static const Variant *const VARIANTS[] = {&variant_baseline};
#endif

/* Each variant is compiled for a level of the x86-64 psABI; this asks for what these levels promise and GCC uses. */
static int runs(const Variant *v) {
#if defined(__x86_64__)
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (v == &variant_avx2) return avx2;
    if (v == &variant_avx512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
#endif
    return v == &variant_baseline;
}

static const Variant *find_variant(const char *name) {
    for (size_t i = 0; i < sizeof VARIANTS / sizeof *VARIANTS; i++)
        if (runs(VARIANTS[i]) && (!*name || !strcmp(name, VARIANTS[i]->name))) return VARIANTS[i];
    return NULL;
}

/* ---- what Python calls ---- */

/* Names are variants; the empty name is the fastest that runs here. */
EXPORT int qtj_lanes(const char *variant) {
    const Variant *v = find_variant(variant);
    return v ? v->lanes : 0;
}

EXPORT const char *qtj_variant(const char *variant) {
    const Variant *v = find_variant(variant);
    return v ? v->name : "";
}

EXPORT double qtj_multiply_add(const char *variant, long rounds) {
    const Variant *v = find_variant(variant);
    return v ? v->multiply_add(rounds) : 0;
}

EXPORT void qtj_destroy(Engine *e) {
    pool_enter();
    release(e);
    pool_leave();
}

/* Copies what it is given. States of up to `keep_bytes` wait for their gradient; others are computed again for it. */
EXPORT const char *qtj_create(const int32_t *program, size_t count, const double *values, size_t value_count,
                              const char *variant, int threads, size_t keep_bytes, Engine **out) {
    *out = NULL;
    const Variant *v = find_variant(variant);
    if (!v) return "this processor has no such instruction set";
    if (threads < 1 || threads > MAX_THREADS) return "the number of threads must be between 1 and 256";
    Engine *e = calloc(1, sizeof *e);
    if (!e) return NO_MEMORY;
    e->variant = v;
    e->threads = threads;
    e->keep_bytes = keep_bytes;
    const char *problem = read_plan(e, program, count, values, value_count);
    if (!problem) problem = reserve_plan(e);
    pool_enter();
    if (!problem) problem = make_base(e);
    if (problem) release(e);
    else enlist(*out = e);
    pool_leave();
    return problem;
}

EXPORT size_t qtj_bytes(const Engine *e) { return e->bytes; }

/* Of the workspace that all engines share. */
EXPORT size_t qtj_shared_bytes(void) { return (workspace.scratch_floats + workspace.lambda_floats) * sizeof(float); }

/* Of all states of a batch. */
EXPORT size_t qtj_states(const Engine *e, long batch) { return (size_t)units_of(e, batch) * unit_bytes(e); }

/* States of up to so many bytes wait for their gradient from now on; those that wait stay. */
EXPORT void qtj_keep(Engine *e, size_t keep_bytes) {
    pool_enter();
    e->keep_bytes = keep_bytes;
    pool_leave();
}

static int acceptable(long batch) { return batch >= 0 && batch <= 1L << 24; }

/* values [batch][readouts] from shared [shared angles] and example [batch][example angles], in half turns. `serial`, not
 * 0, is the name under which a gradient may be asked for. */
EXPORT const char *qtj_forward(Engine *e, long batch, const double *shared, const double *example, uint64_t serial,
                               double *values) {
    if (!acceptable(batch)) return BAD_BATCH;
    if (batch == 0) return NULL;
    pool_enter();
    const char *problem = walk_forward(e, batch, shared, example, serial);
    e->values = values;
    if (!problem) do_all(e, example_values, batch, 32);
    pool_leave();
    return problem;
}

/* Gradients of sum(upstream * values). What the forward call of this serial left is used if it is still there; without
 * it the values are computed again. */
EXPORT const char *qtj_backward(Engine *e, long batch, const double *shared, const double *example, uint64_t serial,
                                const double *upstream, double *shared_gradient, double *example_gradient) {
    if (!acceptable(batch)) return BAD_BATCH;
    memset(shared_gradient, 0, DOUBLES(e->plan.shared_angles));
    if (batch == 0) return NULL;
    memset(example_gradient, 0, DOUBLES(batch * e->plan.example_angles));
    pool_enter();
    const char *problem = NULL;
    if (!serial || e->serial != serial || e->batch != batch) problem = walk_forward(e, batch, shared, example, 0);
    e->example = example;
    e->upstream = upstream;
    e->example_gradient = example_gradient;
    if (!problem) walk_backward(e, shared_gradient);
    pool_leave();
    return problem;
}
