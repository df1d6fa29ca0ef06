/* What every kernel is given; `../driver.py` has the same. An example is one of those in flight. */
typedef struct {
    scalar re, im;
} amplitude;

typedef struct {
    /* The plan. */
    const int *program;          /* see ../../program.py */
    const double *constants;
    const int *kind_at, *head_at; /* where each begins in the program */
    const int *kind_slot, *head_slot; /* number of its first gate, among those of all kinds, or of all heads */
    const unsigned *inside;      /* [2^tile_bits]: where the amplitudes of a tile of this pass are */
    /* What the host knows of a call. */
    const double *shared;        /* [shared angles] */
    const double *example;       /* [examples][example angles] */
    const double *upstream;      /* [examples][readouts] */
    /* What kernels make. */
    double *unitary;             /* [kinds][32] */
    double *pulled;              /* [terms][32]: U^dag O U */
    scalar *coefficients;        /* [kinds][32]: `unitary` in the precision of the states */
    scalar *head_unitary;        /* [examples][heads][32] */
    scalar *observable;          /* [examples][pairs][32] */
    const amplitude *source;     /* where a forward pass reads; examples are `source_stride` apart */
    amplitude *psi, *lambda;     /* [examples][2^qubits] */
    double *sums;                /* [examples][slices][width]: heads, kinds, pairs (16 each), strings (1 each) */
    double *totals;              /* [kinds + terms][16]: over all examples */
    double *values;              /* [examples][readouts] */
    double *kind_slopes;         /* [gates of kinds] */
    double *head_slopes;         /* [examples][gates of heads] */
    double *shared_gradient;     /* [shared angles] */
    double *example_gradient;    /* [examples][example angles] */
    size source_stride;
    /* Places in the program, and sizes. */
    int gates_at, blocks_at, pairs_at, terms_at, strings_at, offsets_at, pass_at;
    int kinds, heads, pairs, terms, strings, readouts, shared_angles, example_angles, kind_slots, head_slots;
    int qubits, tile_bits;
    int examples, slices, width;
    int fold_from, fold_to;
} Call;

enum { APPLY, DENSITY };
enum { NO_UNAPPLY = 1, NO_GRADIENT = 2 };
enum { GATE_INTS = 3, TERM_INTS = 3, STRING_INTS = 7, OP_INTS = 7, COMPONENT = 33 };

DEVICE const int *gate_of(const Call &c, int number) { return c.program + c.gates_at + GATE_INTS * number; }

DEVICE const int *kind_of(const Call &c, int number) { return c.program + c.kind_at[number]; }

DEVICE const int *head_of(const Call &c, int number) { return c.program + c.head_at[number]; }

/* The sums of an example; after `fold`, those of all its slices are in the first. */
DEVICE double *sums_of(const Call &c, size example, unsigned slice) {
    return c.sums + (example * (size)c.slices + slice) * (size)c.width;
}

DEVICE int kind_column(const Call &c, int kind) { return 16 * (c.heads + kind); }

DEVICE int pair_column(const Call &c, int pair) { return 16 * (c.heads + c.kinds + pair); }

DEVICE int string_column(const Call &c, int string) { return 16 * (c.heads + c.kinds + c.pairs) + string; }
