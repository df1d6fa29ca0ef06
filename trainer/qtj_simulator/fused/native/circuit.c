/* The functions of the C interface: circuits, and the engine of each of their programs. All that circuits share is
 * touched between pool_enter and pool_leave. */
#include "curvature.h"
#include "engine.h"
#include "memory.h"
#include "pool.h"
#include "qtj.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char BAD_BATCH[] = "the batch is too large: 16777216 examples are the most";
static const char NO_PROGRAM[] = "the plan has no program for the vectors of this processor: plan the circuit here";

EXPORT const char QTJ_NO_MEMORY[] = "out of memory";

struct qtj_circuit {
    File file;
    char *bytes;
    size_t size, keep_bytes;
    int64_t layer;
    const Variant *variant;
    int threads, users;
    Engine *engine[MAX_PROGRAMS]; /* made when it is first needed */
    Circuit *next;
};

static Circuit *circuits;
static int wanted_threads;

EXPORT int qtj_lanes(const char *variant) {
    const Variant *v = find_variant(variant);
    return v ? v->lanes : 0;
}

EXPORT double qtj_multiply_add(const char *variant, long rounds) {
    const Variant *v = find_variant(variant);
    return v ? v->multiply_add(rounds) : 0;
}

EXPORT void qtj_use_threads(int threads) { wanted_threads = threads; }

int process_threads(void) { return wanted_threads ? wanted_threads : default_threads(); }

/* ---- programs and their engines ---- */

/* Examples side by side take as long as so many one by one when three of four lanes are filled. */
static int fills(long batch, int lanes) { return (batch + lanes - 1) / lanes * lanes * 3 <= batch * 4; }

static int has_examples_in_lanes(const Program *p) { return p->lane_bits == 0; }

static int fits_vectors(const Circuit *c, const Program *p) {
    return p->lane_bits > 0 && p->lane_bits < 8 && 1 << p->lane_bits == c->variant->lanes;
}

/* The program for so many examples, always the same; -1 if none is for the vectors of this processor. */
static int program_for(const Circuit *c, long batch) {
    int few = -1, many = -1;
    for (int i = 0; i < c->file.count; i++) {
        if (has_examples_in_lanes(&c->file.program[i])) many = i;
        else if (fits_vectors(c, &c->file.program[i])) few = i;
    }
    return many >= 0 && (few < 0 || fills(batch, c->variant->lanes)) ? many : few;
}

static const char *make(const Circuit *c, int index, Engine **out) {
    return make_engine(&c->file, &c->file.program[index], c->variant, c->threads, out);
}

/* Every program that may be asked for is read once, so that a bad one is found here. */
static const char *check(const Circuit *c) {
    const char *problem = NULL;
    for (int i = 0; i < c->file.count && !problem; i++) {
        const Program *p = &c->file.program[i];
        if (!has_examples_in_lanes(p) && !fits_vectors(c, p)) continue;
        Engine *tried;
        problem = make(c, i, &tried);
        if (!problem) release(tried);
    }
    return problem;
}

static void set_keep(const Circuit *c, Engine *e) {
    e->borrows = c->keep_bytes == FROM_THE_BUDGET;
    e->keep_bytes = e->borrows ? 0 : c->keep_bytes;
}

static const char *engine_for(Circuit *c, long batch, Engine **out) {
    int index = program_for(c, batch);
    if (index < 0) return NO_PROGRAM;
    *out = c->engine[index];
    if (*out) return NULL;
    Engine *e;
    const char *problem = make(c, index, &e);
    if (problem) return problem;
    set_keep(c, e);
    problem = make_base(e);
    if (problem) {
        release(e);
        return problem;
    }
    enlist(*out = c->engine[index] = e);
    return NULL;
}

static void rest(Circuit *c) {
    for (int i = 0; i < MAX_PROGRAMS; i++) {
        release(c->engine[i]);
        c->engine[i] = NULL;
    }
}

/* ---- circuits ---- */

static void discard(Circuit *c) {
    rest(c);
    free(c->bytes);
    free(c);
}

static const char *new_circuit(const char *plan, size_t size, Circuit asked, Circuit **out) {
    Circuit *c = malloc(sizeof *c);
    char *bytes = malloc(size + 1);
    if (!c || !bytes) {
        free(c);
        free(bytes);
        return QTJ_NO_MEMORY;
    }
    *c = asked;
    memcpy(c->bytes = bytes, plan, size);
    c->size = size;
    Engine *first;
    const char *problem = read_file(&c->file, c->bytes, size);
    if (!problem) problem = check(c);
    if (!problem) problem = engine_for(c, MAX_BATCH, &first);
    if (problem) discard(c);
    else *out = c;
    return problem;
}

static int is_asked(const Circuit *c, const char *plan, size_t size, const Circuit *asked) {
    return c->layer >= 0 && c->layer == asked->layer && c->variant == asked->variant &&
           c->threads == asked->threads && c->keep_bytes == asked->keep_bytes && c->size == size &&
           !memcmp(c->bytes, plan, size);
}

static const char *find_or_make(const char *plan, size_t size, Circuit asked, Circuit **out) {
    for (*out = circuits; *out && !is_asked(*out, plan, size, &asked);) *out = (*out)->next;
    const char *problem = *out ? NULL : new_circuit(plan, size, asked, out);
    if (problem) return problem;
    if (!(*out)->users++) {
        (*out)->next = circuits;
        circuits = *out;
    }
    return NULL;
}

EXPORT const char *qtj_open(const char *plan, size_t size, int64_t layer, const char *variant, int threads,
                            size_t keep_bytes, Circuit **out) {
    *out = NULL;
    const Variant *v = find_variant(variant);
    if (!v) return "this processor has no such instruction set";
    if (threads == 0) threads = process_threads();
    if (threads < 1 || threads > MAX_THREADS) return "the number of threads must be between 1 and 256";
    Circuit asked = {.keep_bytes = keep_bytes, .layer = layer, .variant = v, .threads = threads};
    pool_enter();
    const char *problem = find_or_make(plan, size, asked, out);
    pool_leave();
    return problem;
}

EXPORT void qtj_close(Circuit *c) {
    pool_enter();
    if (!--c->users) {
        Circuit **at = &circuits;
        while (*at != c) at = &(*at)->next;
        *at = c->next;
        discard(c);
    }
    pool_leave();
}

EXPORT void qtj_rest(int64_t layer) {
    pool_enter();
    for (Circuit *c = circuits; c; c = c->next)
        if (c->layer == layer) rest(c);
    pool_leave();
}

EXPORT Sizes qtj_sizes(const Circuit *c) {
    const Program *p = &c->file.program[0];
    return (Sizes){p->inputs, p->weights, p->readouts, p->qubits, (int)c->variant->scalar_bytes};
}

EXPORT size_t qtj_bytes(const Circuit *c) {
    size_t bytes = 0;
    for (int i = 0; i < MAX_PROGRAMS; i++) bytes += c->engine[i] ? c->engine[i]->bytes : 0;
    return bytes;
}

EXPORT size_t qtj_states(Circuit *c, long batch) {
    Engine *e;
    pool_enter();
    const char *problem = engine_for(c, batch, &e);
    pool_leave();
    return problem ? 0 : (size_t)units_of(e, batch) * unit_bytes(e);
}

EXPORT void qtj_keep(Circuit *c, size_t keep_bytes) {
    pool_enter();
    c->keep_bytes = keep_bytes;
    for (int i = 0; i < MAX_PROGRAMS; i++)
        if (c->engine[i]) set_keep(c, c->engine[i]);
    pool_leave();
}

EXPORT size_t qtj_shared_bytes(void) { return workspace.scratch_bytes + workspace.lambda_bytes; }

/* ---- values and gradients ---- */

EXPORT const char *qtj_forward(Circuit *c, long batch, const double *inputs, const double *weights, double *values) {
    if (batch < 0 || batch > MAX_BATCH) return BAD_BATCH;
    if (batch == 0) return NULL;
    Engine *e;
    pool_enter();
    const char *problem = engine_for(c, batch, &e);
    if (!problem) problem = engine_values(e, batch, inputs, weights, values);
    pool_leave();
    return problem;
}

EXPORT const char *qtj_final_states(Circuit *c, long batch, const double *inputs, const double *weights,
                                    double *states) {
    if (batch < 0 || batch > MAX_BATCH) return BAD_BATCH;
    if (batch == 0) return NULL;
    Engine *e;
    pool_enter();
    const char *problem = engine_for(c, batch, &e);
    if (!problem) problem = engine_states(e, batch, inputs, weights, states);
    pool_leave();
    return problem;
}

EXPORT const char *qtj_backward(Circuit *c, long batch, const double *inputs, const double *weights,
                                const double *upstream, double *by_inputs, double *by_weights) {
    if (batch < 0 || batch > MAX_BATCH) return BAD_BATCH;
    memset(by_weights, 0, DOUBLES(qtj_sizes(c).weights));
    if (batch == 0) return NULL;
    Engine *e;
    pool_enter();
    const char *problem = engine_for(c, batch, &e);
    if (!problem) problem = engine_gradients(e, batch, inputs, weights, upstream, by_inputs, by_weights);
    pool_leave();
    return problem;
}

static void clear(const Sizes *s, long batch, const Slopes *out) {
    memset(out->weights, 0, DOUBLES(s->weights));
    memset(out->inputs, 0, DOUBLES(batch * s->inputs));
    memset(out->upstream, 0, DOUBLES(batch * s->readouts));
}

EXPORT const char *qtj_curvature(Circuit *c, long batch, const Symbols *at, const double *upstream,
                                 const Symbols *along, const Slopes *out) {
    if (batch < 0 || batch > MAX_BATCH) return BAD_BATCH;
    Sizes sizes = qtj_sizes(c);
    clear(&sizes, batch, out);
    if (batch == 0) return NULL;
    Engine *e;
    pool_enter();
    const char *problem = engine_for(c, batch, &e);
    if (!problem) problem = engine_curvature(e, batch, at, upstream, along, out);
    pool_leave();
    return problem;
}
