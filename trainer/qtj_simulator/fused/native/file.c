/* The bytes of a plan, as program.py writes them, little-endian:
 *
 *   "QTJP", version, CRC-32 of all that follows: each 4 bytes
 *   how many constants, how many programs, how many integers each program has: each 4 bytes
 *   constants: 8 bytes each
 *   the integers of each program: 4 bytes each
 *
 * The checksum finds what was damaged on its way. program.c believes no program all the same. */
#include "file.h"

#include <stdint.h>
#include <string.h>

enum { VERSION = 2, START = 12, HEADER = 4 * (1 + MAX_PROGRAMS) };

static const char DAMAGED[] = "the plan is damaged";
static const char OTHER_VERSION[] =
    "the plan was made for another version of the library: plan the circuit again with this one";

static uint32_t checksum(const char *bytes, size_t size) {
    uint32_t sum = ~(uint32_t)0;
    for (size_t i = 0; i < size; i++) {
        sum ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    return ~sum;
}

typedef struct {
    const char *at;
    size_t left;
    int bad;
} Bytes;

static const char *take(Bytes *b, size_t count, size_t size) {
    const char *taken = b->at;
    if (count > b->left / size) b->bad = 1;
    if (b->bad) return taken;
    b->at += count * size;
    b->left -= count * size;
    return taken;
}

static uint32_t number(const char *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t next(Bytes *b) {
    const char *taken = take(b, 1, sizeof(uint32_t));
    return b->bad ? 0 : number(taken);
}

/* What is asked of a program before an engine is made of it; program.c checks all of it once more. */
static void look(Program *p) {
    enum { LANE_BITS = 1, VECTOR_BITS, READOUTS = 13, WEIGHTS, INPUTS, LEAST };
    int32_t header[LEAST] = {0};
    if (p->count >= LEAST) memcpy(header, p->integers, sizeof header);
    p->lane_bits = header[LANE_BITS];
    p->qubits = (int)((uint32_t)header[LANE_BITS] + (uint32_t)header[VECTOR_BITS]);
    p->readouts = header[READOUTS];
    p->weights = header[WEIGHTS];
    p->inputs = header[INPUTS];
}

static int agree(const Program *one, const Program *other) {
    return one->qubits == other->qubits && one->readouts == other->readouts && one->weights == other->weights &&
           one->inputs == other->inputs;
}

const char *read_file(File *file, const char *bytes, size_t size) {
    if (size < START || memcmp(bytes, "QTJP", 4)) return DAMAGED;
    if (number(bytes + 4) != VERSION) return OTHER_VERSION;
    if (number(bytes + 8) != checksum(bytes + START, size - START)) return DAMAGED;
    Bytes b = {bytes + START, size - START, 0};
    file->constant_count = next(&b);
    uint32_t count = next(&b);
    if (count < 1 || count > MAX_PROGRAMS) return DAMAGED;
    file->count = (int)count;
    for (int i = 0; i < file->count; i++) file->program[i].count = next(&b);
    file->constants = take(&b, file->constant_count, sizeof(double));
    for (int i = 0; i < file->count; i++) {
        Program *p = &file->program[i];
        p->integers = take(&b, p->count, sizeof(int32_t));
        if (b.bad) return DAMAGED;
        look(p);
        if (!agree(p, &file->program[0])) return DAMAGED;
    }
    return b.bad || b.left ? DAMAGED : NULL;
}
