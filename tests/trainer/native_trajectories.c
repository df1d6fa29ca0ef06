/* Runs the program of a noisy circuit, as native_driver.c does with that of a circuit: values, and then gradients by
 * the matrices of blocks. */
#include "trajectories.h"

#include <stdio.h>
#include <stdlib.h>

enum { INTEGERS, BRANCHES, ROWS, TRAJECTORIES, BLOCKS, CHANNELS, TERMS, THREADS, NUMBERS };

static void *taken(FILE *from, size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory || fread(memory, size, count, from) != count) exit(2);
    return memory;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    int64_t *n = taken(file, NUMBERS, sizeof *n);
    size_t matrices = (size_t)(n[ROWS] * n[BLOCKS] * 32), runs = (size_t)(n[ROWS] * n[TRAJECTORIES]);
    size_t values = runs * (size_t)n[TERMS];
    float *out = calloc(values + matrices, sizeof *out);
    if (!out) return 2;
    Trajectories given = {
        .program = taken(file, (size_t)n[INTEGERS], sizeof(int32_t)),
        .branches = taken(file, (size_t)n[BRANCHES], sizeof(float)),
        .integers = (size_t)n[INTEGERS], .branch_numbers = (size_t)n[BRANCHES],
        .rows = n[ROWS], .trajectories = n[TRAJECTORIES], .blocks = n[BLOCKS], .channels = n[CHANNELS],
        .matrices = taken(file, matrices, sizeof(float)),
        .uniforms = taken(file, runs * (size_t)n[CHANNELS], sizeof(float)),
        .values = out,
    };
    const char *problem = qtj_trajectories("", (int)n[THREADS], &given);
    given.values = NULL, given.by_matrices = out + values, given.upstream = taken(file, values, sizeof(float));
    if (!problem) problem = qtj_trajectories("", (int)n[THREADS], &given);
    if (problem) fprintf(stderr, "%s\n", problem);
    fwrite(out, sizeof *out, values + matrices, stdout);
    return problem != NULL;
}
