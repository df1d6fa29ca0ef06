/* The bytes of a plan: its version, its checksum, its programs. */
#ifndef QTJ_FILE_H
#define QTJ_FILE_H

#include <stddef.h>

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

#endif
