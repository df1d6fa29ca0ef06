/* The C interface of the library. A function that can fail returns NULL, or a sentence about what went wrong; memory is
 * taken before work begins. Any number of threads may call; one at a time is served. */
#ifndef QTJ_H
#define QTJ_H

#include <stddef.h>
#include <stdint.h>

/* A plan, ready to run. */
typedef struct qtj_circuit Circuit;

typedef struct {
    int inputs, weights, readouts, qubits, scalar_bytes;
} Sizes;

enum { MAX_BATCH = 1 << 24 };

/* How many bytes of states wait for their gradient: as many as the budget of the process lends. */
#define FROM_THE_BUDGET SIZE_MAX

extern const char QTJ_NO_MEMORY[]; /* how each sentence begins that more memory would have prevented */

/* Names of variants are instruction sets, for states in single precision: "avx512", "avx2", "baseline"; and in double
 * precision: "avx512_double", ... The fastest ones that run here are "" and "double". */
int qtj_lanes(const char *variant); /* numbers in a vector; 0 if it does not run here */
double qtj_multiply_add(const char *variant, long rounds);

/* Threads of circuits that ask for 0. 0: $OMP_NUM_THREADS, or the processors that this process may use. */
void qtj_use_threads(int threads);

/* Opens the bytes of a plan, and copies them. Circuits with the same plan, layer, threads and variant are one; below 0,
 * a layer has a circuit of its own. */
const char *qtj_open(const char *plan, size_t size, int64_t layer, const char *variant, int threads, size_t keep_bytes,
                     Circuit **out);
void qtj_close(Circuit *circuit);
/* Gives back the memory of a layer that is gone. Whoever has its circuit open still may use it. */
void qtj_rest(int64_t layer);

Sizes qtj_sizes(const Circuit *circuit);
size_t qtj_bytes(const Circuit *circuit); /* taken so far, with what was given back since */
size_t qtj_states(Circuit *circuit, long batch); /* bytes of all states of a batch; 0 if there is no memory */
void qtj_keep(Circuit *circuit, size_t keep_bytes); /* states that wait stay */

/* values [batch][readouts] from inputs [batch][inputs] and weights [weights]. */
const char *qtj_forward(Circuit *circuit, long batch, const double *inputs, const double *weights, double *values);
/* States [batch][2^qubits][real, imaginary] in double precision, each in the order in which the circuit's program has it
 * in memory: the bits of the vector index, and below them those of the lanes. Circuits of one program have one order. */
const char *qtj_final_states(Circuit *circuit, long batch, const double *inputs, const double *weights, double *states);
/* Gradients of sum(upstream * values). What the last forward call left is used if it had the same inputs and weights;
 * otherwise the values are computed again, with the same bits. */
const char *qtj_backward(Circuit *circuit, long batch, const double *inputs, const double *weights,
                         const double *upstream, double *by_inputs, double *by_weights);

/* Numbers for the symbols of a circuit: [batch][inputs] and [weights]. */
typedef struct {
    const double *inputs, *weights;
} Symbols;

/* Derivatives by symbols, and by upstream, [batch][readouts]. */
typedef struct {
    double *inputs, *weights, *upstream;
} Slopes;

/* Second derivatives: those of sum(along * gradients), with the gradients that qtj_backward computes. It takes as many
 * of these as curvature.c says. */
const char *qtj_curvature(Circuit *circuit, long batch, const Symbols *at, const double *upstream,
                          const Symbols *along, const Slopes *out);

/* ---- memory of the process ---- */

size_t qtj_shared_bytes(void); /* of the states that all circuits work on */
size_t qtj_lent(void);         /* what all circuits may keep now */
/* Gives new memory, aligned to 2 MiB, small or huge pages: those that the machine gives faster by this clock. */
void qtj_choose_pages(void *memory, size_t bytes, double (*seconds)(void));
/* What a process may still take: the least that the machine and the control groups around the process have left. */
size_t qtj_free_memory(const char *mounts, const char *own, const char *machine);
/* For tests: so many bytes are free, but for those that are lent; below 0, as many as there are. */
void qtj_assume_free(int64_t bytes);

#endif
