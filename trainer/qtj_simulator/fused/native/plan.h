/* A plan: the program of a circuit for one width of vectors, as program.c reads it. */
#ifndef QTJ_PLAN_H
#define QTJ_PLAN_H

#include <stddef.h>
#include <stdint.h>

#define DOUBLES(count) (sizeof(double) * (size_t)(count))

static const double PI = 3.14159265358979323846;

/* An angle in half turns: a linear function of symbols. Symbols are the weights, then the inputs of an example. */
typedef struct {
    double constant;
    int count;
    const int32_t *slopes; /* for each: symbol, place of its factor */
} Angle;

/* G(t) = sum_k exp(i pi lambda_k t) P_k; without an angle t = 0, and P_0 is the matrix. */
typedef struct {
    int components, angle;
    int shared; /* some kind has it, so its matrix is made once a call */
    const double *constants; /* for each component: lambda, 16 real and 16 imaginary parts of P */
} Gate;

typedef struct {
    int count;
    const int32_t *gates; /* in the order in which they act */
    int parity;           /* of a kind: no gate takes an even state, 00 or 11, to an odd one, 01 or 10, or back */
} Product;

/* A block acts with U = T H. The tail T is shared by all examples; blocks that look alike share it too, as their
 * "kind". The head H depends on the example's data; -1: there is none. */
typedef struct {
    int kind, head;
} Block;

typedef struct {
    int kind; /* the tail that follows */
    Product product;
} Head;

/* Observables on two qubits, looked at before the last block there (`kind`, or -1): <O> = tr(U^dag O U rho). */
typedef struct {
    int kind;
} Pair;

typedef struct {
    int pair, readout;
    const double *matrix; /* 16 real parts, 16 imaginary parts of O */
} Term;

/* A Pauli string on more than two qubits: P|j> = i^phase (-1)^popcount(j & z) |j ^ x>. */
typedef struct {
    int readout, phase;
    uint32_t x, z, lane_x, lane_z;
    double factor;
} String;

enum { APPLY, DENSITY, SWAP };
/* A layer is blocks that act side by side. NEXT_BUFFER, on its first block: from here on the state is written to the next
 * of a unit's buffers, and what was before the layer stays. TOGETHER, on all that are to be un-applied: that is done to
 * lambda alone, once all sums of the layer are taken. */
enum { NO_UNAPPLY = 1, NO_GRADIENT = 2, TOGETHER = 4, NEXT_BUFFER = 8, FLAGS = 16 };

typedef struct {
    int code, index;
    /* Of each qubit: the lane bit it is in, or -1 and its bit in the tile. If both are in lanes, and have to trade places,
     * they do it with these two bits. */
    int bit[2], lane[2];
    int flags;
} Op;

typedef struct {
    int count;
    const Op *ops;
    uint32_t *inside, *outside; /* where the vectors of a tile are, and where the tiles begin */
    int run_bits;               /* so many of a vector's lowest index bits are bits of the tile */
} Pass;

typedef struct {
    int qubits_in_lanes, vector_bits, tile_bits;
    int shared_angles, example_angles, gates, kinds, heads, blocks, pairs, terms, strings, readouts, weights, inputs;
    int passes, prefix_passes; /* the prefix is the constant beginning of the circuit */
    int buffers;
    Angle *angle; /* those that all examples share, then those of each example */
    Gate *gate;
    Product *kind;
    Head *head;
    Block *block;
    Pair *pair;
    Term *term;
    String *string;
    Pass *pass;
    const double *offset; /* of each readout: its identity term */
    Op *ops;
    uint32_t *offsets;
    int32_t *program;
    double *constants;
    size_t program_count, constant_count;
} Plan;

#endif
