/* The fused statevector engine: what its parts share. README.md in this folder has the method.
 *
 *   qtj.h      the C interface
 *   circuit.c  the C interface's functions: circuits, and the engine of each of their programs
 *   file.c     the bytes of a plan: its version, its checksum, its programs
 *   engine.c   one program, ready to run; and which instruction set is taken
 *   walk.c     what a call does: walks over a batch, forward and back
 *   angles.c   from symbols to angles, and from the gradients of angles to those of symbols
 *   memory.c   what an engine owns
 *   budget.c   what all engines may keep for gradients
 *   free.c     the memory that is free
 *   program.c  reads and checks a program that Python made
 *   sweep.c    everything that depends on the vector width; compiled once for each instruction set
 *   algebra.c  4x4 matrices in double precision: what is done once per call, not once per amplitude
 *   sums.h     the order of a block's 16 sums
 *   pool.c     threads that outlive a call
 *   op.c       operations of TensorFlow, in a library of their own
 */
#ifndef QTJ_ENGINE_H
#define QTJ_ENGINE_H

#include "qtj.h"

#define DOUBLES(count) (sizeof(double) * (size_t)(count))

enum { MAX_VECTOR_BITS = 30, MAX_COMPONENTS = 8, OP_INTS = 7, MAX_THREADS = 256 };

/* Row-major, basis |first qubit, second qubit>. */
typedef struct {
    double re[16], im[16];
} Matrix;

static const double PI = 3.14159265358979323846;

/* ---- the program ---- */

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

/* ---- what a call works with ---- */

/* The sums of one thread. They are in double precision, each lane for itself: [what][16][lanes]. */
typedef struct {
    double *kinds, *heads, *pairs, *strings;
    double *angles; /* [shared angles]: gradients */
} Thread;

typedef struct engine Engine;

/* One of many pieces of work that do not depend on each other. */
typedef void Piece(Engine *, Thread *, long number);

/* States that one call at a time works on, for all engines of the process: nothing in them outlives a call. */
typedef struct {
    float *scratch; /* the states of a unit, for each worker */
    float *lambda;  /* one state for each worker */
    size_t scratch_floats, lambda_floats;
    Engine *engines; /* those that there are */
} Workspace;

extern Workspace workspace; /* between pool_enter and pool_leave */

/* What one instruction set can do. A unit is a group of LANES examples, or one example with qubits in the lanes. */
typedef struct {
    const char *name;
    int lanes;
    Piece *heads, *head_gradients; /* of a group */
    void (*reset)(const Engine *, float *psi);
    void (*forward)(const Engine *, Thread *, long unit, int pass, long from, long to, float *psi);
    void (*backward)(const Engine *, Thread *, long unit, int pass, long from, long to, float *psi, float *lambda);
    void (*string_values)(const Engine *, Thread *, long from, long to, const float *psi);
    void (*string_seeds)(const Engine *, long unit, long from, long to, const float *psi, float *lambda);
    double (*multiply_add)(long rounds);
} Variant;

struct engine {
    Plan plan;
    const Variant *variant;
    int threads;
    long tiles;
    size_t state_floats, bytes;
    size_t keep_bytes;      /* of states that may wait for their gradient */
    int borrows;            /* ... which the budget lends: `asked` are the most that were asked for */
    size_t asked;
    Thread *thread;

    float *base;             /* the state after the constant beginning; NULL: |0...0>. Engines that are alike share it */
    float *kept;             /* states of units 0..kept_units that wait for their gradient */
    long kept_units, groups;
    int is_fresh;            /* `kept` and `densities` are of the inputs and weights below */

    Matrix *gate_matrix;     /* [gates]; those of heads are made for each example */
    Matrix *unitary;         /* [kinds] */
    Matrix *pulled;          /* [terms] U^dag O U */
    float *coefficients;     /* [kinds][U, U^dag][real, imaginary][16] */

    long batch;
    double *inputs;           /* [batch][inputs] */
    double *weights;          /* [weights] */
    double *shared;           /* [shared angles] */
    double *example;          /* [batch][example angles] */
    const double *upstream;   /* [batch][readouts] */
    double *values;           /* [batch][readouts] */
    double *shared_gradient;  /* [shared angles] */
    double *example_gradient; /* [batch][example angles] */
    float *head_unitary;      /* [groups][heads][real, imaginary][16][lanes] */
    float *observable;        /* [groups][pairs][real, imaginary][16][lanes]: sum of `pulled`, weighted by upstream */
    double *head_sums;        /* [groups][heads][16][lanes] */
    double *densities;        /* [groups][pairs][16][lanes] */
    double *string_sums;      /* [groups][strings][lanes] */
    Engine *next;
};

/* ---- how work is divided ---- */

static inline size_t groups_of(const Engine *e, long batch) {
    return ((size_t)batch + (size_t)e->variant->lanes - 1) / (size_t)e->variant->lanes;
}

static inline long units_of(const Engine *e, long batch) {
    return e->plan.qubits_in_lanes ? batch : (long)groups_of(e, batch);
}

static inline size_t group_count(const Engine *e) { return groups_of(e, e->batch); }

static inline long unit_count(const Engine *e) { return units_of(e, e->batch); }

/* A unit's state before the first layer with a buffer, and one after each. */
static inline size_t unit_states(const Engine *e) { return 1 + (size_t)e->plan.buffers; }

/* A state is divided over the threads where it has tiles enough for all of them, or where the batch has not; otherwise
 * the batch is. */
static inline int divides_state(const Engine *e) {
    return e->tiles >= 2L * e->threads || (e->tiles > 1 && unit_count(e) < e->threads);
}

/* ---- file.c ---- */

enum { MAX_PROGRAMS = 8 };

typedef struct {
    const char *integers;
    size_t count;
    int lane_bits; /* qubits in the lanes; 0: the lanes hold examples */
    int weights, inputs, readouts, qubits;
} Program;

/* Pointers into the bytes of a plan. */
typedef struct {
    const char *constants;
    size_t constant_count;
    int count;
    Program program[MAX_PROGRAMS]; /* of the same circuit, for different vectors */
} File;

const char *read_file(File *file, const char *bytes, size_t size);

/* ---- engine.c ---- */

const Variant *find_variant(const char *name);
int default_threads(void);
/* The state after the constant beginning is not made yet. */
const char *make_engine(const File *file, const Program *program, const Variant *variant, int threads, Engine **out);
const char *engine_values(Engine *e, long batch, const double *inputs, const double *weights, double *values);
const char *engine_gradients(Engine *e, long batch, const double *inputs, const double *weights,
                             const double *upstream, double *by_inputs, double *by_weights);

/* ---- angles.c ---- */

void find_angles(Engine *e);
void find_slopes(const Engine *e, double *by_inputs, double *by_weights);

/* ---- budget.c ---- */

/* Lets an engine keep the states of a batch, or as many as there is room for now. */
void lend(Engine *e, long batch);

/* ---- memory.c ---- */

/* Aligned, and NULL if there is no memory. States are not cleared. */
void *allocate(Engine *e, size_t count, size_t size);
float *allocate_states(Engine *e, size_t count);
size_t unit_bytes(const Engine *e);               /* all states of a unit */
const char *reserve_plan(Engine *e);              /* what the plan needs, once */
const char *reserve_batch(Engine *e, long batch); /* what a batch needs; it only ever grows */
void enlist(Engine *e);
float *known_base(const Engine *e); /* that of an engine with the same program; or NULL */
void release(Engine *e);            /* enlisted or not */

/* ---- walk.c ---- */

const char *make_base(Engine *e); /* the state after the constant beginning of the circuit, computed once */
const char *walk_forward(Engine *e, long batch, const double *inputs, const double *weights);
int is_known(const Engine *e, long batch, const double *inputs, const double *weights); /* by the last forward call */
void walk_backward(Engine *e);                                                          /* after it */
/* All pieces of some work; fewer than `worth` are not worth a thread. */
void do_all(Engine *e, Piece *piece, long count, long worth);

/* ---- program.c ---- */

const char *read_plan(Engine *e, const File *file, const Program *program);

/* ---- algebra.c ---- */

Piece prepare_gate, prepare_kind, pull_term; /* before a sweep, in this order */
Piece example_values, weigh_observables;     /* after the values' sweep; before the gradients', for a group */
Piece term_sums, kind_gradient;              /* after a gradients' sweep, in this order */

/* ---- pool.c ---- */

typedef void Job(void *argument, int index, int count);
void pool_run(int threads, Job *job, void *argument);
void pool_enter(void);
void pool_leave(void);

#endif
