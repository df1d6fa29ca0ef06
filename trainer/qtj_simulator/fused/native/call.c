/* Custom calls of XLA, which JAX compiles into its programs:
 *
 *   qtj_xla_values     values [batch, readouts] from inputs [batch, inputs] and weights [weights]
 *   qtj_xla_gradients  the gradients of sum(upstream * values) by inputs and by weights
 *   qtj_xla_curvature  the gradients of sum(along * those), by inputs, weights and upstream
 *
 * Numbers are float32 or float64. The attributes are what qtj_open takes, so that a compiled program holds the circuit
 * and no address: it may outlive the function that made it. As long as that one is there, the circuit is open, and
 * qtj_open finds it. */
#include "failed.h"
#include "xla.h"

#include <stdlib.h>

enum { MOST = 8 }; /* arrays of a call, with its results */
enum { KEEP_BYTES, LAYER, PLAN, THREADS, VARIANT, ATTRIBUTES };

/* The attributes of a call, as XLA sorts them. */
static const struct {
    const char *name;
    int kind, type; /* a string has no type of elements */
} TAKEN[ATTRIBUTES] = {
    [KEEP_BYTES] = {"keep_bytes", SCALAR, UNSIGNED_64},
    [LAYER] = {"layer", SCALAR, SIGNED_64},
    [PLAN] = {"plan", ARRAY, UNSIGNED_8},
    [THREADS] = {"threads", SCALAR, SIGNED_64},
    [VARIANT] = {"variant", STRING, 0},
};

/* What the buffers of a call are: those of a shorter one are the first of them. */
static const char KINDS[] = "iwriwiwr";

typedef const char *Work(Circuit *, long batch, double *const *numbers);

typedef struct {
    const Frame *frame;
    Circuit *circuit;
    Sizes sizes;
    long batch;
    int given, count; /* arrays that are given, and those with the results */
    Buffer *buffers[MOST];
    double *numbers[MOST], *room;
} Call;

static Failure *fail(const Call *c, const char *problem) {
    char sentence[SENTENCE];
    why_it_failed(sentence, problem, c->batch, &c->sizes);
    Failing failing = {sizeof failing, NULL, sentence, lacks_memory(problem) ? RESOURCE_EXHAUSTED : INVALID_ARGUMENT};
    return c->frame->interface->fail(&failing);
}

static int is_taken(const Attributes *given, int i) {
    const Text *name = given->names[i];
    if (name->size != strlen(TAKEN[i].name) || memcmp(name->bytes, TAKEN[i].name, name->size)) return 0;
    if (given->types[i] != TAKEN[i].kind) return 0;
    const int *type = given->values[i]; /* Number and Bytes begin with it */
    return TAKEN[i].kind == STRING || *type == TAKEN[i].type;
}

static const char *open_circuit(const Attributes *given, Circuit **out) {
    int taken = given->count == ATTRIBUTES;
    for (int i = 0; taken && i < ATTRIBUTES; i++) taken = is_taken(given, i);
    if (!taken) return "the call has other attributes: make the function anew";
    const Bytes *plan = given->values[PLAN];
    const Number *numbers[] = {given->values[KEEP_BYTES], given->values[LAYER], given->values[THREADS]};
    const Text *name = given->values[VARIANT];
    char variant[32];
    snprintf(variant, sizeof variant, "%.*s", (int)name->size, name->bytes);
    return qtj_open(plan->bytes, plan->count, *numbers[1]->number, variant, (int)*numbers[2]->number,
                    (size_t)*numbers[0]->number, out);
}

static size_t elements(const Buffer *buffer) {
    size_t count = 1;
    for (int64_t i = 0; i < buffer->rank; i++) count *= (size_t)buffer->dims[i];
    return count;
}

static size_t elements_of(char kind, const Sizes *sizes, long batch) {
    if (kind == 'w') return (size_t)sizes->weights;
    return (size_t)batch * (size_t)(kind == 'i' ? sizes->inputs : sizes->readouts);
}

/* Finds the buffers of a call, and checks them, because the engine does not. */
static const char *find_buffers(Call *c) {
    static const char OTHER[] = "the arrays of the call are not those of the circuit: make the function anew";
    const Frame *f = c->frame;
    if (f->given.count != c->given || f->results.count != c->count - c->given) return OTHER;
    for (int i = 0; i < c->count; i++) {
        int result = i - c->given;
        const Buffer *b = c->buffers[i] = result < 0 ? f->given.buffers[i] : f->results.buffers[result];
        if (i == 0) c->batch = b->rank == 2 ? (long)b->dims[0] : -1;
        if (c->batch < 0 || (b->type != FLOAT && b->type != DOUBLE)) return OTHER;
        if (elements(b) != elements_of(KINDS[i], &c->sizes, c->batch)) return OTHER;
    }
    return NULL;
}

/* The engine works in double precision outside of its states; buffers of float32 are copied. */
static const char *widen(Call *c) {
    size_t total = 1;
    for (int i = 0; i < c->count; i++) total += elements(c->buffers[i]);
    double *next = c->room = malloc(total * sizeof *next);
    if (!next) return QTJ_NO_MEMORY;
    for (int i = 0; i < c->count; i++) {
        const Buffer *b = c->buffers[i];
        size_t count = elements(b);
        c->numbers[i] = b->type == DOUBLE && count ? b->data : next; /* an empty buffer may be NULL */
        for (size_t k = 0; b->type == FLOAT && i < c->given && k < count; k++)
            next[k] = ((const float *)b->data)[k];
        next += count;
    }
    return NULL;
}

static void narrow(const Call *c) {
    for (int i = c->given; i < c->count; i++) {
        const Buffer *b = c->buffers[i];
        size_t count = elements(b);
        for (size_t k = 0; b->type == FLOAT && k < count; k++) ((float *)b->data)[k] = (float)c->numbers[i][k];
    }
}

/* Whether a frame only asks for the version, as it does when a call is registered. */
static int asks_for_version(const Frame *frame) {
    const Extension *first = frame->extensions;
    if (!first || first->type != METADATA) return 0;
    Metadata *metadata = ((const MetadataExtension *)first)->metadata;
    metadata->version.major = MAJOR;
    metadata->version.minor = MINOR;
    metadata->traits = 0;
    return 1;
}

static Failure *run(const Frame *frame, int given, int results, Work *work) {
    if (asks_for_version(frame)) return NULL;
    Call c = {.frame = frame, .given = given, .count = given + results};
    const char *problem = open_circuit(&frame->attributes, &c.circuit);
    if (problem) return fail(&c, problem);
    c.sizes = qtj_sizes(c.circuit);
    problem = find_buffers(&c);
    if (!problem) problem = widen(&c);
    if (!problem) problem = work(c.circuit, c.batch, c.numbers);
    if (!problem) narrow(&c);
    free(c.room);
    qtj_close(c.circuit);
    return problem ? fail(&c, problem) : NULL;
}

static const char *values(Circuit *c, long batch, double *const *n) { return qtj_forward(c, batch, n[0], n[1], n[2]); }

static const char *gradients(Circuit *c, long batch, double *const *n) {
    return qtj_backward(c, batch, n[0], n[1], n[2], n[3], n[4]);
}

static const char *curvature(Circuit *c, long batch, double *const *n) {
    return qtj_curvature(c, batch, &(Symbols){n[0], n[1]}, n[2], &(Symbols){n[3], n[4]}, &(Slopes){n[5], n[6], n[7]});
}

#define EXPORT __attribute__((visibility("default")))

EXPORT Failure *qtj_xla_values(const Frame *frame) { return run(frame, 2, 1, values); }

EXPORT Failure *qtj_xla_gradients(const Frame *frame) { return run(frame, 3, 2, gradients); }

EXPORT Failure *qtj_xla_curvature(const Frame *frame) { return run(frame, 5, 3, curvature); }
