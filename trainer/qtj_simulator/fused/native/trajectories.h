/* Quantum trajectories: a circuit with channels, run many times. A lane of a vector is one trajectory of one row.
 *
 * The program, as ../../noise/program.py writes it, in 32-bit integers:
 *
 *   header     qubits, blocks, channels, branches, terms, steps
 *   step       code, index of the block or channel, its first qubit, its second one or -1
 *   channel    first branch, how many, whether it is a mixture of unitaries, its qubits
 *   term       flipped qubits, signed qubits, phase: P|j> = i^phase (-1)^popcount(j & signed) |j ^ flipped>
 *
 * A branch is 33 numbers: its probability (of a mixture), 16 real and 16 imaginary parts of its matrix, row by row; a
 * matrix on one qubit has the first 4 of each. Qubit q is bit q of a state's index, and the first qubit of a matrix is
 * the more significant bit of its index. */
#ifndef QTJ_TRAJECTORIES_H
#define QTJ_TRAJECTORIES_H

#include "forms.h"

#include <stddef.h>
#include <stdint.h>

typedef float Amplitude; /* of states and matrices */

enum { STEP_BLOCK, STEP_CHANNEL };
enum { MOST_TRAJECTORY_QUBITS = 24, BRANCH_NUMBERS = 33, MOST_LANES = 16 };

typedef struct {
    int32_t code, index, first, second;
} Step;

typedef struct {
    int32_t first, count, is_mixture, qubits;
} Channel;

typedef struct {
    int32_t flips, signs, phase;
} PauliTerm;

/* What a call works with. Gradients are asked for if there is an upstream. */
typedef struct {
    const int32_t *program;
    const Amplitude *branches; /* [branches][33] */
    size_t integers, branch_numbers;
    long rows, trajectories, blocks, channels;
    const Amplitude *matrices; /* [rows][blocks][real, imaginary][16] */
    const float *uniforms;     /* [rows][trajectories][channels], from 0 to 1 */
    const float *upstream;     /* [rows][trajectories][terms], or NULL */
    float *values;             /* [rows][trajectories][terms], or NULL */
    float *by_matrices;        /* [rows][blocks][real, imaginary][16], or NULL */
} Trajectories;

/* What the trajectories of each row share, see trajectory_usual.h. */
typedef struct {
    int stored, apart; /* states of a row, and channels from one to the next; 0: every trajectory is on its own */
    Amplitude *states; /* [rows][stored][2^qubits][real, imaginary], each before a channel */
    int32_t *step;     /* [channels] which step a channel is */
    float *likely;     /* [rows][channels] how likely the first branch is on the path */
    int32_t *leaves;   /* [rows][trajectories] the channel at which it leaves the path; after the last one: never */
    int32_t *order;    /* [rows][trajectories] trajectories, in the order in which they leave */
    int32_t *leaving;  /* [rows] how many leave */
    int32_t *before;   /* [rows][channels + 2] for sorting */
} UsualPath;

/* The program, checked, and how its work is divided over the lanes of vectors. */
typedef struct {
    const Trajectories *given;
    int qubits, blocks, channels, branches, terms, steps;
    const Step *step;
    const Channel *channel;
    const PauliTerm *term;
    int saved;              /* states that a gradient keeps: one before each channel that is not a mixture */
    const uint32_t *inside; /* 0, 1, 2, ... : where a vector of the state is */
    double *effects;        /* [branches][32] K^dag K */
    double *least;          /* [channels] how likely the first branch is at least, whatever the state */
    unsigned char *idle;    /* [branches] whether it is the identity */
    unsigned char *scales;  /* [branches] whether it is real and diagonal, on one qubit */
    unsigned char *real;    /* [channels] whether all branches are */
    Form *forms;            /* [rows][blocks], or NULL: the lanes of a vector have different rows */
    int lanes;
    long rows_per_group, groups_per_row, groups;
    UsualPath usual;
    float *partial; /* [groups][rows per group][blocks][32] gradients by matrices */
} TrajectoryPlan;

/* What one thread works on. */
typedef struct {
    void *psi, *lambda, *saved;
    unsigned char *chosen; /* [channels][lanes] branches, counted from the channel's first */
    float *uniforms;       /* [channels][lanes] */
    float *scale;          /* [channels][lanes] what makes the state after it a unit vector; 1: it stays as it is */
} TrajectoryScratch;

typedef struct {
    const char *name;
    int lanes;
    void (*follow)(const TrajectoryPlan *, TrajectoryScratch *, long row); /* the usual path, and who leaves it where */
    void (*run)(const TrajectoryPlan *, TrajectoryScratch *, long group);
} TrajectoryVariant;

/* Fills values or by_matrices. Returns NULL, or a sentence about what went wrong; `threads` 0: those of the process. */
const char *qtj_trajectories(const char *variant, int threads, const Trajectories *given);
/* How many terms a program has; below 0 if it is damaged. */
int qtj_trajectory_terms(const int32_t *program, size_t integers);

#endif
