/* Takes many programs of the native engine, most of them damaged, through values, gradients and second derivatives.
 * What the engine refuses is passed over. Sanitizers end it at the first wrong access; stderr then names the program. */
#include "qtj.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLAN, INPUTS, WEIGHTS, READOUTS, NUMBERS };
enum { BATCH = 3, THREADS = 2 };

static void *taken(FILE *from, size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory || fread(memory, size, count, from) != count) exit(2);
    return memory;
}

static double *zeros(size_t count) {
    double *memory = calloc(count ? count : 1, sizeof *memory);
    if (!memory) exit(2);
    return memory;
}

/* Arrays of their exact sizes, so that an access one number too far is seen. */
static void run(Circuit *circuit, size_t inputs, size_t weights, size_t readouts) {
    double *input = zeros(BATCH * inputs), *weight = zeros(weights), *upstream = zeros(BATCH * readouts);
    double *values = zeros(BATCH * readouts), *by_input = zeros(BATCH * inputs), *by_weight = zeros(weights);
    Symbols at = {input, weight}, along = {input, weight};
    Slopes second = {by_input, by_weight, values};
    if (!qtj_forward(circuit, BATCH, input, weight, values)
        && !qtj_backward(circuit, BATCH, input, weight, upstream, by_input, by_weight))
        qtj_curvature(circuit, BATCH, &at, upstream, &along, &second);
    double *all[] = {input, weight, upstream, values, by_input, by_weight};
    for (size_t each = 0; each < sizeof all / sizeof *all; each++) free(all[each]);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    int64_t *count = taken(file, 1, sizeof *count), ran = 0;
    for (int64_t number = 0; number < *count; number++) {
        int64_t *n = taken(file, NUMBERS, sizeof *n);
        char *plan = taken(file, (size_t)n[PLAN], 1);
        Circuit *circuit;
        fprintf(stderr, "program %lld\n", (long long)number);
        if (!qtj_open(plan, (size_t)n[PLAN], -1, "", THREADS, 1 << 16, &circuit)) {
            run(circuit, (size_t)n[INPUTS], (size_t)n[WEIGHTS], (size_t)n[READOUTS]);
            qtj_close(circuit);
            ran++;
        }
        free(plan);
        free(n);
    }
    fwrite(&ran, sizeof ran, 1, stdout);
    free(count);
    fclose(file);
    return 0;
}
