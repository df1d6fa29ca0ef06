/* Reads a program, as program.py lays it out, and believes nothing: every index is checked against what it points into,
 * so that no program can make the engine read or write where it should not. */
#include "program.h"
#include "memory.h"
#include "qtj.h"

#include <string.h>

enum { MAX_COUNT = 1 << 20, MAX_PASSES = 1 << 12, MAX_VECTOR_BITS = 30, MAX_COMPONENTS = 8, OP_INTS = 7 };

static const char BAD_PROGRAM[] = "the plan is damaged";

typedef struct {
    const int32_t *at, *end;
    const double *constants;
    size_t constant_count;
    int lane_bits, bad;
} Reader;

static int32_t next(Reader *r) {
    if (r->at < r->end) return *r->at++;
    r->bad = 1;
    return 0;
}

/* A number from `low` up to, but not including, `high`. */
static int within(Reader *r, int low, int high) {
    int32_t value = next(r);
    if (value >= low && value < high) return value;
    r->bad = 1;
    return low;
}

static uint32_t bits(Reader *r, int count) {
    uint32_t value = (uint32_t)next(r);
    if (value >> count) r->bad = 1;
    return value;
}

static const double *constants(Reader *r, size_t count) {
    int32_t offset = next(r);
    if (offset >= 0 && (size_t)offset <= r->constant_count && count <= r->constant_count - (size_t)offset)
        return r->constants + offset;
    r->bad = 1;
    return r->constants;
}

static void read_header(Reader *r, Plan *p) {
    int *const counts[] = {&p->shared_angles, &p->example_angles, &p->gates, &p->kinds, &p->heads,
                           &p->blocks, &p->pairs, &p->terms, &p->strings, &p->readouts, &p->weights, &p->inputs};
    p->qubits_in_lanes = within(r, 0, 2);
    if (next(r) != (p->qubits_in_lanes ? r->lane_bits : 0)) r->bad = 1;
    if (!p->qubits_in_lanes) r->lane_bits = 0;
    p->vector_bits = within(r, 2, MAX_VECTOR_BITS + 1);
    p->tile_bits = within(r, 2, p->vector_bits + 1);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *counts[i] = within(r, 0, MAX_COUNT);
    p->passes = within(r, 1, MAX_PASSES);
    p->prefix_passes = within(r, 0, p->passes);
}

/* Symbols are below `symbols`; an angle that all examples share knows weights alone. */
static void read_angle(Reader *r, Angle *angle, int symbols) {
    const double *constant = constants(r, 1);
    angle->constant = r->bad ? 0 : *constant;
    angle->count = within(r, 0, MAX_COUNT);
    angle->slopes = r->at;
    for (int i = 0; i < angle->count && !r->bad; i++) {
        within(r, 0, symbols);
        constants(r, 1);
    }
}

static void read_gate(Reader *r, Gate *gate) {
    gate->components = within(r, 1, MAX_COMPONENTS + 1);
    gate->angle = within(r, -1, MAX_COUNT);
    gate->constants = constants(r, 33 * (size_t)gate->components);
}

/* Whether a gate has nothing, exactly, between even and odd states. */
static int preserves_parity(const Gate *gate) {
    for (int k = 0; k < gate->components; k++)
        for (int i = 0; i < 16; i++) {
            int differ = i / 4 ^ i % 4, odd = differ == 1 || differ == 2;
            if (odd && (gate->constants[33 * k + 1 + i] != 0 || gate->constants[33 * k + 17 + i] != 0)) return 0;
        }
    return 1;
}

static void read_product(Reader *r, const Plan *p, Product *product, int angles) {
    product->count = within(r, 0, MAX_COUNT);
    product->gates = r->at;
    for (int i = 0; i < product->count && !r->bad; i++)
        if (p->gate[within(r, 0, p->gates)].angle >= angles) r->bad = 1;
}

static void read_kind(Reader *r, const Plan *p, Product *kind) {
    read_product(r, p, kind, p->shared_angles);
    kind->parity = 1;
    for (int i = 0; i < kind->count && !r->bad; i++) {
        Gate *gate = &p->gate[kind->gates[i]];
        gate->shared = 1;
        kind->parity &= preserves_parity(gate);
    }
}

static void read_head(Reader *r, const Plan *p, Head *head) {
    head->kind = within(r, 0, p->kinds);
    read_product(r, p, &head->product, p->example_angles);
    if (head->product.count == 0) r->bad = 1;
}

static void read_block(Reader *r, const Plan *p, Block *block) {
    block->kind = within(r, 0, p->kinds);
    block->head = within(r, -1, p->heads);
    if (!r->bad && block->head >= 0 && p->head[block->head].kind != block->kind) r->bad = 1;
}

static void read_term(Reader *r, const Plan *p, Term *term) {
    term->pair = within(r, 0, p->pairs);
    term->readout = within(r, 0, p->readouts);
    term->matrix = constants(r, 32);
}

static void read_string(Reader *r, const Plan *p, String *s) {
    s->readout = within(r, 0, p->readouts);
    s->phase = within(r, 0, 4);
    s->x = bits(r, p->vector_bits);
    s->z = bits(r, p->vector_bits);
    s->lane_x = bits(r, r->lane_bits);
    s->lane_z = bits(r, r->lane_bits);
    const double *factor = constants(r, 1);
    s->factor = r->bad ? 0 : *factor;
}

static void read_tables(Reader *r, Plan *p) {
    for (int i = 0; i < p->shared_angles + p->example_angles && !r->bad; i++)
        read_angle(r, &p->angle[i], i < p->shared_angles ? p->weights : p->weights + p->inputs);
    for (int i = 0; i < p->gates && !r->bad; i++) read_gate(r, &p->gate[i]);
    for (int i = 0; i < p->kinds && !r->bad; i++) read_kind(r, p, &p->kind[i]);
    for (int i = 0; i < p->heads && !r->bad; i++) read_head(r, p, &p->head[i]);
    for (int i = 0; i < p->blocks && !r->bad; i++) read_block(r, p, &p->block[i]);
    for (int i = 0; i < p->pairs && !r->bad; i++) p->pair[i].kind = within(r, -1, p->kinds);
    for (int i = 0; i < p->terms && !r->bad; i++) read_term(r, p, &p->term[i]);
    for (int i = 0; i < p->strings && !r->bad; i++) read_string(r, p, &p->string[i]);
    p->offset = constants(r, (size_t)p->readouts);
}

/* Layers are for states that are worked on whole, in one pass. */
static void check_layer(Reader *r, Plan *p, const Op *op) {
    int starts = op->flags & NEXT_BUFFER, together = op->flags & TOGETHER;
    if (!starts && !together) return;
    p->buffers += starts != 0;
    if (op->code != APPLY || p->tile_bits != p->vector_bits || p->passes != p->prefix_passes + 1) r->bad = 1;
    if (!together || !p->buffers) r->bad = 1;
}

static void read_op(Reader *r, Plan *p, Op *op, int prefix) {
    op->code = within(r, APPLY, SWAP + 1);
    op->index = within(r, 0, op->code == APPLY ? p->blocks : op->code == DENSITY ? p->pairs : 1);
    for (int i = 0; i < 2; i++) {
        op->bit[i] = within(r, 0, p->tile_bits);
        op->lane[i] = within(r, -1, r->lane_bits);
    }
    op->flags = within(r, 0, FLAGS);
    check_layer(r, p, op);
    if (r->bad) return;
    int two_bits = op->bit[0] != op->bit[1] && (op->lane[0] < 0 || op->lane[0] != op->lane[1]);
    if (op->code == SWAP ? op->lane[0] < 0 : !two_bits) r->bad = 1;
    if (prefix && (op->code == DENSITY || op->flags > (NO_UNAPPLY | NO_GRADIENT))) r->bad = 1;
    if (prefix && op->code == APPLY && p->block[op->index].head >= 0) r->bad = 1;
}

/* All numbers whose set bits are among the given ones, in order. */
static void spread(uint32_t *offsets, uint32_t among) {
    uint32_t value = 0;
    do {
        *offsets++ = value;
        value = (value - among) & among;
    } while (value);
}

static void read_pass(Reader *r, Plan *p, Pass *pass, Op **ops, const Op *end, int prefix) {
    pass->count = within(r, 0, MAX_COUNT);
    uint32_t inside = bits(r, p->vector_bits), all = ((uint32_t)1 << p->vector_bits) - 1;
    if (__builtin_popcount(inside) != p->tile_bits || end - *ops < pass->count) r->bad = 1;
    if (r->bad) return;
    spread(pass->inside, inside);
    spread(pass->outside, all & ~inside);
    pass->run_bits = __builtin_ctz(~inside);
    pass->ops = *ops;
    for (int i = 0; i < pass->count && !r->bad; i++) read_op(r, p, (*ops)++, prefix);
}

static void read_passes(Reader *r, Plan *p, const Op *end) {
    size_t tile = (size_t)1 << p->tile_bits, tiles = (size_t)1 << (p->vector_bits - p->tile_bits);
    Op *ops = p->ops;
    for (int i = 0; i < p->passes && !r->bad; i++) {
        p->pass[i].inside = p->offsets + (size_t)i * (tile + tiles);
        p->pass[i].outside = p->pass[i].inside + tile;
        read_pass(r, p, &p->pass[i], &ops, end, i < p->prefix_passes);
    }
}

static int make_tables(Engine *e, size_t ops) {
    Plan *p = &e->plan;
    size_t offsets = ((size_t)1 << p->tile_bits) + ((size_t)1 << (p->vector_bits - p->tile_bits));
    size_t angles = (size_t)p->shared_angles + (size_t)p->example_angles;
    return (p->angle = allocate(e, angles, sizeof *p->angle)) &&
           (p->gate = allocate(e, (size_t)p->gates, sizeof *p->gate)) &&
           (p->kind = allocate(e, (size_t)p->kinds, sizeof *p->kind)) &&
           (p->head = allocate(e, (size_t)p->heads, sizeof *p->head)) &&
           (p->block = allocate(e, (size_t)p->blocks, sizeof *p->block)) &&
           (p->pair = allocate(e, (size_t)p->pairs, sizeof *p->pair)) &&
           (p->term = allocate(e, (size_t)p->terms, sizeof *p->term)) &&
           (p->string = allocate(e, (size_t)p->strings, sizeof *p->string)) &&
           (p->pass = allocate(e, (size_t)p->passes, sizeof *p->pass)) &&
           (p->ops = allocate(e, ops, sizeof *p->ops)) &&
           (p->offsets = allocate(e, (size_t)p->passes * offsets, sizeof *p->offsets));
}

/* Whatever the counts claim, each entry takes at least one integer. */
static int fits(const Plan *p, size_t count) {
    size_t entries = 0;
    const int counts[] = {p->shared_angles, p->example_angles, p->gates, p->kinds, p->heads, p->blocks, p->pairs, p->terms,
                          p->strings, p->passes};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) entries += (size_t)counts[i];
    return entries <= count;
}

const char *read_plan(Engine *e, const File *file, const Program *program) {
    Plan *p = &e->plan;
    p->program_count = program->count;
    p->constant_count = file->constant_count;
    p->program = allocate(e, p->program_count, sizeof *p->program);
    p->constants = allocate(e, p->constant_count, sizeof *p->constants);
    if (!p->program || !p->constants) return QTJ_NO_MEMORY;
    memcpy(p->program, program->integers, p->program_count * sizeof *p->program);
    memcpy(p->constants, file->constants, DOUBLES(p->constant_count));
    int lane_bits = __builtin_ctz((unsigned)e->variant->lanes);
    Reader r = {p->program, p->program + p->program_count, p->constants, p->constant_count, lane_bits, 0};
    read_header(&r, p);
    if (r.bad || !fits(p, p->program_count)) return BAD_PROGRAM;
    if (!make_tables(e, p->program_count / OP_INTS)) return QTJ_NO_MEMORY;
    read_tables(&r, p);
    if (!r.bad) read_passes(&r, p, p->ops + p->program_count / OP_INTS);
    return r.bad || r.at != r.end ? BAD_PROGRAM : NULL;
}
