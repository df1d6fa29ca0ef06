/* What engines own, and what they share: all of it is taken before work begins, and nothing of it within. */
#define _GNU_SOURCE
#include "memory.h"
#include "qtj.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define EXPORT __attribute__((visibility("default")))

/* Large states lie in small or huge pages. One fault takes 512 small ones or one huge one. Where the machine is there for
 * nobody else, huge ones are faster to get. On a virtual machine they took four times as long as small pages, perhaps
 * because it hands free huge pages back to its host. Which of both it is, only a look at the clock tells. */
enum { SMALL_PAGE = 1 << 12, HUGE_PAGE = 1 << 21 };

/* Of this thread. */
static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__linux__)
/* Seconds for the first HUGE_PAGE bytes at `memory`, in pages of one kind. */
static double seconds_for(void *memory, int kind, double (*seconds)(void)) {
    volatile char *bytes = memory;
    double start = seconds();
    madvise(memory, HUGE_PAGE, kind);
    for (int at = 0; at < HUGE_PAGE; at += SMALL_PAGE) bytes[at] = 0;
    return seconds() - start;
}

/* What is tried is part of the state, so nothing is taken that would not be taken anyway. */
EXPORT void qtj_choose_pages(void *memory, size_t bytes, double (*seconds)(void)) {
    if (bytes < 2 * HUGE_PAGE) return;
    double huge = seconds_for(memory, MADV_HUGEPAGE, seconds);
    double small = seconds_for((char *)memory + HUGE_PAGE, MADV_NOHUGEPAGE, seconds);
    madvise(memory, bytes, huge <= small ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}
#else
EXPORT void qtj_choose_pages(void *memory, size_t bytes, double (*seconds)(void)) {}
#endif

/* Aligned memory; what is in it is left open. A large state is not cleared first: the threads that fill it take its
 * pages side by side. */
static void *take(size_t count, size_t size) {
    if (count > SIZE_MAX / 4 / size) return NULL;
    size_t bytes = count * size, unit = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
    bytes = bytes ? (bytes + unit - 1) / unit * unit : unit;
    void *memory = aligned_alloc(unit, bytes);
    if (memory && unit == HUGE_PAGE) qtj_choose_pages(memory, bytes, processor_seconds);
    return memory;
}

void *allocate_states(Engine *e, size_t count) {
    e->bytes += count * e->state_bytes;
    return take(count, e->state_bytes);
}

void *allocate(Engine *e, size_t count, size_t size) {
    void *memory = take(count, size);
    e->bytes += count * size;
    return memory ? memset(memory, 0, count * size) : NULL;
}

static int renew(Engine *e, void **pointer, size_t count, size_t size) {
    free(*pointer);
    *pointer = allocate(e, count, size);
    return *pointer != NULL;
}

static size_t worker_count(const Engine *e) { return divides_state(e) ? 1 : (size_t)e->threads; }

size_t unit_bytes(const Engine *e) { return unit_states(e) * e->state_bytes; }

/* Nothing that is in it is of worth. Where there is no more memory it stays: other engines have made sure of its size,
 * and count on that in their next gradient. */
static int extend(void **states, size_t *bytes, size_t count, size_t size) {
    if (count <= *bytes / size) return 1;
    void *larger = take(count, size);
    if (!larger) return 0;
    free(*states);
    *states = larger;
    *bytes = count * size;
    return 1;
}

/* How many units may wait for their gradient, by the budget. */
static long units_to_keep(const Engine *e) {
    size_t room = e->keep_bytes / unit_bytes(e);
    return room < (size_t)unit_count(e) ? (long)room : unit_count(e);
}

static size_t scratch_bytes(const Engine *e) { return worker_count(e) * unit_bytes(e); }

static size_t lambda_bytes(const Engine *e) { return worker_count(e) * e->state_bytes; }

static const char *reserve_states(Engine *e) {
    long keep = units_to_keep(e);
    if (keep > e->kept_units) {
        e->kept_units = 0;
        free(e->kept);
        if (!(e->kept = allocate_states(e, (size_t)keep * unit_states(e)))) return QTJ_NO_MEMORY;
        e->kept_units = keep;
    }
    int fits = unit_count(e) <= e->kept_units || extend(&workspace.scratch, &workspace.scratch_bytes,
                                                        scratch_bytes(e) / e->state_bytes, e->state_bytes);
    return fits ? NULL : QTJ_NO_MEMORY;
}

const char *reserve_lambda(const Engine *e) {
    int fits = extend(&workspace.lambda, &workspace.lambda_bytes, worker_count(e), e->state_bytes);
    return fits ? NULL : QTJ_NO_MEMORY;
}

/* What an engine has for each cell, a lane of a group of examples. */
typedef struct {
    void **at;
    size_t count, size;
} Part;

enum { PARTS = 8 };

static void find_parts(Engine *e, Part *out) {
    const Plan *p = &e->plan;
    size_t scalar = e->variant->scalar_bytes;
    const Part parts[PARTS] = {
        {&e->head_unitary, (size_t)p->heads * 32, scalar},
        {&e->observable, (size_t)p->pairs * 32, scalar},
        {(void **)&e->head_sums, (size_t)p->heads * 16, sizeof(double)},
        {(void **)&e->densities, (size_t)p->pairs * 16, sizeof(double)},
        {(void **)&e->string_sums, (size_t)p->strings, sizeof(double)},
        {(void **)&e->inputs, (size_t)p->inputs, sizeof(double)},
        {(void **)&e->example, (size_t)p->example_angles, sizeof(double)},
        {(void **)&e->example_gradient, (size_t)p->example_angles, sizeof(double)},
    };
    memcpy(out, parts, sizeof parts);
}

const char *reserve_batch(Engine *e, long batch) {
    e->batch = batch;
    size_t groups = group_count(e), cells = groups * (size_t)e->variant->lanes;
    if ((long)groups > e->groups) {
        e->groups = 0;
        Part parts[PARTS];
        find_parts(e, parts);
        for (int i = 0; i < PARTS; i++)
            if (!renew(e, parts[i].at, cells * parts[i].count, parts[i].size)) return QTJ_NO_MEMORY;
        e->groups = (long)groups;
    }
    return reserve_states(e);
}

static size_t more_than(size_t wanted, size_t had) { return wanted > had ? wanted - had : 0; }

size_t missing_lambda(const Engine *e) { return more_than(lambda_bytes(e), workspace.lambda_bytes); }

size_t missing_batch(Engine *e, long batch) {
    long before = e->batch;
    e->batch = batch;
    size_t cells = more_than(group_count(e), (size_t)e->groups) * (size_t)e->variant->lanes, bytes = 0;
    Part parts[PARTS];
    find_parts(e, parts);
    for (int i = 0; i < PARTS; i++) bytes += cells * parts[i].count * parts[i].size;
    long keep = units_to_keep(e), kept = keep > e->kept_units ? keep : e->kept_units;
    bytes += (size_t)(kept - e->kept_units) * unit_bytes(e);
    if (unit_count(e) > kept) bytes += more_than(scratch_bytes(e), workspace.scratch_bytes);
    e->batch = before;
    return bytes;
}

size_t missing_gradient(Engine *e, long batch) {
    long before = e->batch;
    size_t bytes = missing_batch(e, batch);
    e->batch = batch;
    bytes += missing_lambda(e);
    e->batch = before;
    return bytes;
}

static const char *make_threads(Engine *e) {
    const Plan *p = &e->plan;
    size_t lanes = (size_t)e->variant->lanes;
    e->thread = allocate(e, (size_t)e->threads, sizeof *e->thread);
    if (!e->thread) return QTJ_NO_MEMORY;
    for (Thread *t = e->thread; t < e->thread + e->threads; t++) {
        t->kinds = allocate(e, (size_t)p->kinds * 16 * lanes, sizeof(double));
        t->heads = allocate(e, (size_t)p->heads * 16 * lanes, sizeof(double));
        t->pairs = allocate(e, (size_t)p->pairs * 16 * lanes, sizeof(double));
        t->strings = allocate(e, (size_t)p->strings * lanes, sizeof(double));
        t->angles = allocate(e, (size_t)p->shared_angles, sizeof(double));
        if (!t->kinds || !t->heads || !t->pairs || !t->strings || !t->angles) return QTJ_NO_MEMORY;
    }
    return NULL;
}

const char *reserve_plan(Engine *e) {
    const Plan *p = &e->plan;
    e->tiles = 1L << (p->vector_bits - p->tile_bits);
    e->state_bytes = 2 * e->variant->scalar_bytes * (size_t)e->variant->lanes << p->vector_bits;
    e->gate_matrix = allocate(e, (size_t)p->gates, sizeof *e->gate_matrix);
    e->unitary = allocate(e, (size_t)p->kinds, sizeof *e->unitary);
    e->pulled = allocate(e, (size_t)p->terms, sizeof *e->pulled);
    e->coefficients = allocate(e, (size_t)p->kinds * 64, e->variant->scalar_bytes);
    e->weights = allocate(e, (size_t)p->weights, sizeof(double));
    e->shared = allocate(e, (size_t)p->shared_angles, sizeof(double));
    e->shared_gradient = allocate(e, (size_t)p->shared_angles, sizeof(double));
    if (!e->gate_matrix || !e->unitary || !e->pulled || !e->coefficients || !e->weights || !e->shared ||
        !e->shared_gradient)
        return QTJ_NO_MEMORY;
    return make_threads(e);
}

/* ---- all engines of the process ---- */

Workspace workspace;

void enlist(Engine *e) {
    e->next = workspace.engines;
    workspace.engines = e;
}

static int are_alike(const Engine *one, const Engine *other) {
    const Plan *p = &one->plan, *q = &other->plan;
    return one->variant == other->variant && p->program_count == q->program_count &&
           p->constant_count == q->constant_count &&
           !memcmp(p->program, q->program, p->program_count * sizeof *p->program) &&
           !memcmp(p->constants, q->constants, DOUBLES(p->constant_count));
}

void *known_base(const Engine *e) {
    for (const Engine *each = workspace.engines; each; each = each->next)
        if (each != e && each->base && are_alike(each, e)) return each->base;
    return NULL;
}

static void delist(const Engine *e) {
    Engine **at = &workspace.engines;
    while (*at && *at != e) at = &(*at)->next;
    if (*at) *at = e->next;
}

/* After the last engine, the workspace goes too. */
static void release_shared(Engine *e) {
    delist(e);
    int alone = 1;
    for (const Engine *each = workspace.engines; each; each = each->next) alone &= each->base != e->base;
    if (alone) free(e->base);
    if (workspace.engines) return;
    free(workspace.scratch);
    free(workspace.lambda);
    workspace = (Workspace){0};
}

void release(Engine *e) {
    if (!e) return;
    release_shared(e);
    const Plan *p = &e->plan;
    void *const parts[] = {p->gate, p->kind, p->head, p->block, p->pair, p->term, p->string, p->pass, p->ops,
                           p->offsets, p->program, p->constants, p->angle, e->kept,
                           e->gate_matrix, e->unitary, e->pulled, e->coefficients, e->head_unitary, e->observable,
                           e->head_sums, e->densities, e->string_sums, e->inputs, e->weights, e->shared, e->example,
                           e->shared_gradient, e->example_gradient};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
    for (int i = 0; e->thread && i < e->threads; i++) {
        const Thread *t = &e->thread[i];
        void *const own[] = {t->kinds, t->heads, t->pairs, t->strings, t->angles};
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) free(own[k]);
    }
    free(e->thread);
    free(e);
}
