/* Takes a program of the native engine through values and gradients, on machines that have no Python: reads numbers from
 * a file, writes the results to stdout as they are in memory. native_driver.py writes the one and reads the other. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct qtj_engine Engine;
int qtj_lanes(const char *variant);
const char *qtj_create(const int32_t *program, size_t count, const double *values, size_t value_count,
                       const char *variant, int threads, size_t keep_bytes, Engine **out);
void qtj_destroy(Engine *e);
const char *qtj_forward(Engine *e, long batch, const double *shared, const double *example, uint64_t serial,
                        double *values);
const char *qtj_backward(Engine *e, long batch, const double *shared, const double *example, uint64_t serial,
                         const double *upstream, double *shared_gradient, double *example_gradient);

enum { INTEGERS, CONSTANTS, SHARED, EXAMPLE, READOUTS, BATCH, THREADS, NUMBERS };

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
    int32_t *program = taken(file, (size_t)n[INTEGERS], sizeof *program);
    double *constants = taken(file, (size_t)n[CONSTANTS], sizeof *constants);
    double *shared = taken(file, (size_t)n[SHARED], sizeof *shared);
    size_t examples = (size_t)(n[BATCH] * n[EXAMPLE]), results = (size_t)(n[BATCH] * n[READOUTS]);
    double *example = taken(file, examples, sizeof *example);
    double *upstream = taken(file, results, sizeof *upstream);
    fclose(file);

    double *out = calloc(results + (size_t)n[SHARED] + examples, sizeof *out);
    Engine *engine;
    if (!out) return 2;
    check(qtj_create(program, (size_t)n[INTEGERS], constants, (size_t)n[CONSTANTS], "", (int)n[THREADS], 1 << 20,
                     &engine));
    check(qtj_forward(engine, n[BATCH], shared, example, 1, out));
    check(qtj_backward(engine, n[BATCH], shared, example, 1, upstream, out + results, out + results + n[SHARED]));
    fwrite(out, sizeof *out, results + (size_t)n[SHARED] + examples, stdout);
    qtj_destroy(engine);
    return 0;
}
