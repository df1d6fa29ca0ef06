/* Checks the program of noisy circuits, and divides their trajectories over threads. */
#include "trajectories.h"
#include "engine.h"
#include "pool.h"
#include "qtj.h"
#include "room.h"
#include "trajectory_branches.h"
#include "trajectory_usual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { HEADER = 6, STEP = 4, CHANNEL = 4, TERM = 3, MOST_BRANCHES = 255, ALIGNMENT = 64 };
enum { STORED_BYTES = 1 << 24 }; /* of states of usual paths, in all: about what a cache holds */

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

/* Each channel acts once, in the order of their numbers: so random numbers are in the order of steps. */
static int channels_are_in_order(const TrajectoryPlan *p) {
    int next = 0;
    for (int i = 0; i < p->steps; i++)
        if (p->step[i].code == STEP_CHANNEL && p->step[i].index != next++) return 0;
    return next == p->channels;
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
    return sound && channels_are_in_order(p) ? NULL : DAMAGED;
}

EXPORT int qtj_trajectory_terms(const int32_t *program, size_t integers) {
    return integers >= HEADER && is_sound_header(program, integers) ? program[4] : -1;
}

/* ---- what a call finds in its program ---- */

static void find_steps_of_channels(const TrajectoryPlan *p) {
    for (int32_t i = 0; p->usual.stored && i < p->steps; i++)
        if (p->step[i].code == STEP_CHANNEL) p->usual.step[p->step[i].index] = i;
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

static void lay_out_usual_path(TrajectoryPlan *p, Arena *a) {
    UsualPath *u = &p->usual;
    if (!u->stored) return;
    size_t rows = (size_t)p->given->rows, channels = (size_t)p->channels, many = (size_t)p->given->trajectories;
    u->states = part(a, rows * (size_t)u->stored, (size_t)2 * sizeof(Amplitude) << p->qubits);
    u->step = part(a, channels, sizeof *u->step);
    u->likely = part(a, rows * channels, sizeof *u->likely);
    u->leaves = part(a, rows * many, sizeof *u->leaves);
    u->order = part(a, rows * many, sizeof *u->order);
    u->leaving = part(a, rows, sizeof *u->leaving);
    u->before = part(a, rows * (channels + 2), sizeof *u->before);
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
    lay_out_usual_path(p, a);
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

static void every_so_many_paths(void *argument, int index, int of) {
    const Work *w = argument;
    for (long row = index; row < w->plan->given->rows; row += of) w->variant->follow(w->plan, &w->scratch[index], row);
}

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
    p->usual.stored = (int)states_to_store(p, STORED_BYTES);
    if (p->usual.stored) p->usual.apart = (p->channels + p->usual.stored - 1) / p->usual.stored;
}

static const char *refuse(const TrajectoryPlan *p, size_t needed) {
    char what[96], remedy[64];
    int fewer = p->qubits;
    while (fewer > 2 && !has_room(needed >> (p->qubits - fewer))) fewer--;
    snprintf(what, sizeof what, "a batch of %ld noisy circuits of %d qubits", p->given->rows, p->qubits);
    snprintf(remedy, sizeof remedy, "take fewer examples or trajectories, or %d qubits", fewer);
    return refusal(what, needed, remedy);
}

static const char *work(TrajectoryPlan *p, const TrajectoryVariant *variant, int threads) {
    TrajectoryScratch scratch[MAX_THREADS];
    if (threads > p->groups) threads = (int)p->groups;
    Arena arena = {NULL, 0};
    lay_out(p, scratch, threads, &arena);
    if (!has_room(arena.used)) return refuse(p, arena.used);
    char *memory = aligned_alloc(ALIGNMENT, arena.used);
    if (!memory) return QTJ_NO_MEMORY;
    lay_out(p, scratch, threads, &(Arena){memory, 0});
    for (uint32_t i = 0; i < (uint32_t)1 << p->qubits; i++) ((uint32_t *)p->inside)[i] = i;
    look_at_branches(p);
    look_at_blocks(p);
    find_steps_of_channels(p);
    if (p->partial)
        memset(p->partial, 0,
               (size_t)p->groups * (size_t)p->rows_per_group * (size_t)p->blocks * 32 * sizeof *p->partial);
    if (p->usual.stored) pool_run(threads, every_so_many_paths, &(Work){p, variant, scratch});
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
