/* Takes a program of the native engine through values, gradients and second derivatives by the inputs, on machines
 * that have no Python: reads numbers from a file, writes the results to stdout as they are in memory. native_driver.py
 * writes the one and reads the other. */
#include "qtj.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLAN, BATCH, INPUTS, WEIGHTS, READOUTS, THREADS, IS_DOUBLE, NUMBERS };

static void *taken(FILE *from, size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory || fread(memory, size, count, from) != count) exit(2);
    return memory;
}

static void check(const char *problem) {
    if (!problem) return;
    fprintf(stderr, "%s\n", problem);
    exit(1);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    int64_t *n = taken(file, NUMBERS, sizeof *n);
    size_t inputs = (size_t)(n[BATCH] * n[INPUTS]), weights = (size_t)n[WEIGHTS];
    size_t results = (size_t)(n[BATCH] * n[READOUTS]);
    char *plan = taken(file, (size_t)n[PLAN], 1);
    double *input = taken(file, inputs, sizeof *input);
    double *weight = taken(file, weights, sizeof *weight);
    double *upstream = taken(file, results, sizeof *upstream);
    fclose(file);

    size_t first = results + inputs + weights, count = first + inputs + weights + results;
    double *no_direction = calloc(weights + 1, sizeof *no_direction);
    double *out = calloc(count, sizeof *out);
    Circuit *circuit;
    if (!out || !no_direction) return 2;
    check(qtj_open(plan, (size_t)n[PLAN], -1, n[IS_DOUBLE] ? "double" : "", (int)n[THREADS], 1 << 20, &circuit));
    check(qtj_forward(circuit, n[BATCH], input, weight, out));
    check(qtj_backward(circuit, n[BATCH], input, weight, upstream, out + results, out + results + inputs));
    Symbols at = {input, weight}, along = {input, no_direction};
    Slopes second = {out + first, out + first + inputs, out + first + inputs + weights};
    check(qtj_curvature(circuit, n[BATCH], &at, upstream, &along, &second));
    fwrite(out, sizeof *out, count, stdout);
    qtj_close(circuit);
    return 0;
}
