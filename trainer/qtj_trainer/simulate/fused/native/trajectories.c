/* Checks the program of noisy circuits, and divides their trajectories over threads. */
#include "trajectories.h"

#include "budget.h"
#include "engine.h"
#include "pool.h"
#include "qtj.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { HEADER = 6, STEP = 4, CHANNEL = 4, TERM = 3, MOST_BRANCHES = 255, ALIGNMENT = 64 };

static const char DAMAGED[] = "the program of the noisy circuit is damaged";
static const char TOO_LARGE[] = "the batch is too large: 2147483647 trajectories are the most";

extern const TrajectoryVariant trajectories_baseline;
#if defined(__x86_64__)
extern const TrajectoryVariant trajectories_avx512, trajectories_avx2;
static const TrajectoryVariant *const VARIANTS[] = {&trajectories_avx512, &trajectories_avx2, &trajectories_baseline};
#else
static const TrajectoryVariant *const VARIANTS[] = {&trajectories_baseline};
#endif

static const TrajectoryVariant *variant_named(const char *name) {
    const Variant *found = find_variant(name);
    for (size_t i = 0; found && i < sizeof VARIANTS / sizeof *VARIANTS; i++)
        if (!strcmp(VARIANTS[i]->name, found->name)) return VARIANTS[i];
    return NULL;
}

/* ---- the program ---- */

static int is_below(int64_t number, int64_t bound) { return number >= 0 && number < bound; }

static int is_sound_header(const int32_t *h, size_t integers) {
    for (int i = 0; i < HEADER; i++)
        if (h[i] < 0) return 0;
    size_t needed = HEADER + STEP * (size_t)h[5] + CHANNEL * (size_t)h[2] + TERM * (size_t)h[4];
    return h[0] >= 2 && h[0] <= MOST_TRAJECTORY_QUBITS && needed == integers;
}

static int is_sound_channel(const TrajectoryPlan *p, const Channel *c) {
    return c->count >= 1 && c->count <= MOST_BRANCHES && is_below(c->first, p->branches) &&
           (int64_t)c->first + c->count <= p->branches && is_below(c->is_mixture, 2) &&
           (c->qubits == 1 || c->qubits == 2);
}

static int is_sound_step(const TrajectoryPlan *p, const Step *s) {
    if (!is_below(s->first, p->qubits)) return 0;
    int on_two = is_below(s->second, p->qubits) && s->second != s->first;
    if (s->code == STEP_BLOCK) return on_two && is_below(s->index, p->blocks);
    if (s->code != STEP_CHANNEL || !is_below(s->index, p->channels)) return 0;
    return p->channel[s->index].qubits == 2 ? on_two : s->second == -1;
}

static int is_sound_term(const TrajectoryPlan *p, const PauliTerm *t) {
    int64_t states = (int64_t)1 << p->qubits;
    return is_below(t->flips, states) && is_below(t->signs, states) && is_below(t->phase, 4);
}

/* Every channel is stepped on once at most: its choices are kept for the way back. */
static int channels_are_used_once(const TrajectoryPlan *p) {
    char *used = calloc((size_t)p->channels + 1, 1);
    int sound = used != NULL;
    for (int i = 0; sound && i < p->steps; i++)
        if (p->step[i].code == STEP_CHANNEL) sound = !used[p->step[i].index]++;
    free(used);
    return sound;
}

static const char *read_program(TrajectoryPlan *p, const Trajectories *g) {
    const int32_t *h = g->program;
    if (g->integers < HEADER || !is_sound_header(h, g->integers)) return DAMAGED;
    p->given = g;
    p->qubits = h[0], p->blocks = h[1], p->channels = h[2], p->branches = h[3], p->terms = h[4], p->steps = h[5];
    p->step = (const Step *)(h + HEADER);
    p->channel = (const Channel *)(p->step + p->steps);
    p->term = (const PauliTerm *)(p->channel + p->channels);
    int sound = g->blocks == p->blocks && g->channels == p->channels &&
                g->branch_numbers == BRANCH_NUMBERS * (size_t)p->branches;
    for (int i = 0; sound && i < p->channels; i++) sound = is_sound_channel(p, &p->channel[i]);
    for (int i = 0; sound && i < p->steps; i++) sound = is_sound_step(p, &p->step[i]);
    for (int i = 0; sound && i < p->terms; i++) sound = is_sound_term(p, &p->term[i]);
    return sound && channels_are_used_once(p) ? NULL : DAMAGED;
}

EXPORT int qtj_trajectory_terms(const int32_t *program, size_t integers) {
    return integers >= HEADER && is_sound_header(program, integers) ? program[4] : -1;
}

/* ---- what a branch does ---- */

static void find_effect(const Amplitude *m, int width, double *to) {
    for (int i = 0; i < width * width; i++)
        for (int k = 0; k < width; k++) {
            int a = width * k + i / width, b = width * k + i % width;
            double ar = (double)m[a], ai = (double)m[16 + a], br = (double)m[b], bi = (double)m[16 + b];
            to[i] += ar * br + ai * bi;
            to[16 + i] += ar * bi - ai * br;
        }
}

static int is_identity(const Amplitude *m, int width) {
    for (int i = 0; i < width * width; i++)
        if (m[i] != (i / width == i % width) || m[16 + i] != 0) return 0;
    return 1;
}

static int is_diagonal(const Amplitude *m) { return m[1] == 0 && m[2] == 0 && m[17] == 0 && m[18] == 0; }

/* The least of <K^dag K> over all states, where that is easy to see; else 0, which is right too. */
static double least_likelihood(const double *effect, int width) {
    double least = 1;
    for (int i = 0; i < width * width; i++) {
        if (i / width != i % width && (effect[i] != 0 || effect[16 + i] != 0)) return 0;
        if (i / width == i % width && effect[i] < least) least = effect[i];
    }
    return least;
}

static int is_real(const Amplitude *m) {
    for (int i = 0; i < 16; i++)
        if (m[16 + i] != 0) return 0;
    return 1;
}

static void look_at_branches(TrajectoryPlan *p) {
    for (int c = 0; c < p->channels; c++) {
        p->real[c] = 1;
        for (int k = 0; k < p->channel[c].count; k++) {
            int branch = p->channel[c].first + k, width = 2 * p->channel[c].qubits;
            const Amplitude *m = p->given->branches + BRANCH_NUMBERS * branch + 1;
            memset(p->effects + 32 * branch, 0, 32 * sizeof(double));
            find_effect(m, width, p->effects + 32 * branch);
            p->idle[branch] = (unsigned char)is_identity(m, width);
            p->scales[branch] = (unsigned char)(width == 2 && is_real(m) && is_diagonal(m));
            p->real[c] &= (unsigned char)is_real(m);
        }
        const Channel *of = &p->channel[c];
        p->least[c] = of->is_mixture ? (double)p->given->branches[BRANCH_NUMBERS * of->first]
                                     : least_likelihood(p->effects + 32 * of->first, 2 * of->qubits);
    }
}

static void look_at_blocks(TrajectoryPlan *p) {
    size_t many = (size_t)p->given->rows * (size_t)p->blocks;
    for (size_t i = 0; p->forms && i < many; i++) p->forms[i] = form_of(p->given->matrices + 32 * i);
}

/* ---- memory ---- */

/* One piece of memory for a call, given out part by part; `at` NULL only measures. */
typedef struct {
    char *at;
    size_t used;
} Arena;

static void *part(Arena *a, size_t count, size_t size) {
    void *given = a->at ? a->at + a->used : NULL;
    a->used += (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return given;
}

static void lay_out(TrajectoryPlan *p, TrajectoryScratch *scratch, int threads, Arena *a) {
    size_t vectors = (size_t)1 << p->qubits, state = 2 * sizeof(Amplitude) * (size_t)p->lanes * vectors;
    int has_gradient = p->given->upstream != NULL;
    p->inside = part(a, vectors, sizeof *p->inside);
    p->effects = part(a, (size_t)p->branches * 32, sizeof *p->effects);
    p->least = part(a, (size_t)p->channels, sizeof *p->least);
    p->idle = part(a, (size_t)p->branches, 1);
    p->scales = part(a, (size_t)p->branches, 1);
    p->real = part(a, (size_t)p->channels, 1);
    p->forms = p->rows_per_group > 1 ? NULL : part(a, (size_t)p->given->rows * (size_t)p->blocks, sizeof *p->forms);
    size_t slots = (size_t)p->groups * (size_t)p->rows_per_group;
    p->partial = part(a, has_gradient ? slots * (size_t)p->blocks * 32 + 1 : 0, sizeof *p->partial);
    if (!has_gradient) p->partial = NULL;
    for (int i = 0; i < threads; i++) {
        scratch[i].psi = part(a, 1, state);
        scratch[i].lambda = part(a, (size_t)has_gradient, state);
        scratch[i].saved = part(a, has_gradient ? (size_t)p->saved : 0, state);
        scratch[i].chosen = part(a, (size_t)p->channels * (size_t)p->lanes, 1);
        scratch[i].uniforms = part(a, (size_t)p->channels * (size_t)p->lanes, sizeof(float));
        scratch[i].scale = part(a, (size_t)p->channels * (size_t)p->lanes, sizeof(float));
    }
}

/* ---- a call ---- */

typedef struct {
    const TrajectoryPlan *plan;
    const TrajectoryVariant *variant;
    TrajectoryScratch *scratch;
} Work;

/* Groups are divided by number, and no sum crosses a group here: results do not depend on the threads. */
static void every_so_many(void *argument, int index, int of) {
    const Work *w = argument;
    for (long i = index; i < w->plan->groups; i += of) w->variant->run(w->plan, &w->scratch[index], i);
}

static void add_up(const TrajectoryPlan *p) {
    size_t width = (size_t)p->blocks * 32;
    for (size_t row = 0; row < (size_t)p->given->rows; row++)
        for (size_t i = 0; i < width; i++) {
            double sum = 0;
            for (size_t k = 0; k < (size_t)p->groups_per_row; k++)
                sum += (double)p->partial[(row * (size_t)p->groups_per_row + k) * width + i];
            p->given->by_matrices[row * width + i] = (float)sum;
        }
}

static void divide(TrajectoryPlan *p, int lanes) {
    long rows = p->given->rows, trajectories = p->given->trajectories;
    p->lanes = lanes;
    p->rows_per_group = trajectories < lanes ? lanes / trajectories : 1;
    p->groups_per_row = (trajectories + lanes - 1) / lanes;
    p->groups = (rows * p->groups_per_row + p->rows_per_group - 1) / p->rows_per_group;
    for (int i = 0; i < p->channels; i++) p->saved += !p->channel[i].is_mixture;
}

static const char *work(TrajectoryPlan *p, const TrajectoryVariant *variant, int threads) {
    TrajectoryScratch scratch[MAX_THREADS];
    if (threads > p->groups) threads = (int)p->groups;
    Arena arena = {NULL, 0};
    lay_out(p, scratch, threads, &arena);
    if (arena.used > free_now()) return QTJ_NO_MEMORY;
    char *memory = aligned_alloc(ALIGNMENT, arena.used);
    if (!memory) return QTJ_NO_MEMORY;
    lay_out(p, scratch, threads, &(Arena){memory, 0});
    for (uint32_t i = 0; i < (uint32_t)1 << p->qubits; i++) ((uint32_t *)p->inside)[i] = i;
    look_at_branches(p);
    look_at_blocks(p);
    if (p->partial)
        memset(p->partial, 0,
               (size_t)p->groups * (size_t)p->rows_per_group * (size_t)p->blocks * 32 * sizeof *p->partial);
    pool_run(threads, every_so_many, &(Work){p, variant, scratch});
    if (p->partial) add_up(p);
    free(memory);
    return NULL;
}

EXPORT const char *qtj_trajectories(const char *variant, int threads, const Trajectories *given) {
    const TrajectoryVariant *v = variant_named(variant);
    if (!v) return "this processor has no such instruction set";
    TrajectoryPlan plan = {0};
    const char *problem = read_program(&plan, given);
    if (problem) return problem;
    if (given->rows == 0 || given->trajectories == 0) return NULL;
    if (given->rows > INT32_MAX / given->trajectories) return TOO_LARGE;
    divide(&plan, v->lanes);
    pool_enter();
    problem = work(&plan, v, threads ? threads : process_threads());
    pool_leave();
    return problem;
}
