/* Operations of TensorFlow:
 *
 *   QtjExpectation      values [batch, readouts] from inputs [batch, inputs] and weights [weights]
 *   QtjExpectationGrad  the gradients of sum(upstream * values) by inputs and by weights
 *   QtjExpectationGradGrad  the gradients of sum(along * those), by inputs, weights and upstream
 *   QtjTrajectories     and its gradient, of noisy circuits: see trajectories_op.h
 *
 * Numbers are float32 or float64, and states have the same precision: attribute `T`. The attribute `plan` has the bytes of a plan, so that whatever holds a graph holds the circuit.
 * `layer` tells layers with the same plan apart: each keeps states of its own for its gradient. Both operations are
 * functions of their inputs and attributes alone: same inputs, same bits.
 *
 * This is a library of its own, which TensorFlow loads: it uses the C interface alone, and no C++ type crosses it. */
#define _GNU_SOURCE
#include "failed.h"
#include "tensorflow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(Status *status, int code, const char *format, ...) {
    char sentence[SENTENCE];
    va_list more;
    va_start(more, format);
    vsnprintf(sentence, sizeof sentence, format, more);
    va_end(more);
    TF_SetStatus(status, code, sentence);
}

static int is_ok(const Status *status) { return TF_GetCode(status) == OK; }

/* ---- a kernel is an open circuit ---- */

static Circuit *open_circuit(Construction *of, Status *status) {
    int32_t count = 0, size = 0;
    int64_t layer = 0;
    int type = FLOAT;
    TF_OpKernelConstruction_GetAttrSize(of, "plan", &count, &size, status);
    char *plan = is_ok(status) && size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (plan) TF_OpKernelConstruction_GetAttrString(of, "plan", plan, (size_t)size, status);
    if (is_ok(status)) TF_OpKernelConstruction_GetAttrInt64(of, "layer", &layer, status);
    if (is_ok(status)) TF_OpKernelConstruction_GetAttrType(of, "T", &type, status);
    Circuit *circuit = NULL;
    const char *problem = NULL;
    if (is_ok(status))
        problem = plan ? qtj_open(plan, (size_t)size, layer, type == DOUBLE ? "double" : "", 0, FROM_THE_BUDGET, &circuit)
                       : QTJ_NO_MEMORY;
    free(plan);
    if (problem)
        fail(status, lacks_memory(problem) ? RESOURCE_EXHAUSTED : INVALID_ARGUMENT, "the fused engine: %s", problem);
    return circuit;
}

static void *create(Construction *of) {
    Status *status = TF_NewStatus();
    Circuit *circuit = open_circuit(of, status);
    if (!is_ok(status)) TF_OpKernelConstruction_Failure(of, status);
    TF_DeleteStatus(status);
    return circuit;
}

static void delete(void *kernel) {
    if (kernel) qtj_close(kernel);
}

/* ---- a call ---- */

enum { INPUTS, WEIGHTS, UPSTREAM, ALONG_INPUTS, ALONG_WEIGHTS, MOST };

/* The engine works in double precision outside of its states. */
typedef struct {
    Context *context;
    Status *status;
    Circuit *circuit;
    Sizes sizes;
    long batch;
    Tensor *tensor[MOST];
    double *numbers[MOST];
} Call;

static double *doubles(Call *c, size_t count) {
    double *made = malloc(count * sizeof(double) + 1);
    if (!made) fail(c->status, RESOURCE_EXHAUSTED, "the fused engine: %s", QTJ_NO_MEMORY);
    return made;
}

static size_t elements(const Tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < TF_NumDims(tensor); i++) count *= (size_t)TF_Dim(tensor, i);
    return count;
}

static int is_double(const Call *c) { return c->sizes.scalar_bytes == sizeof(double); }

static void take(Call *c, int which) {
    if (is_ok(c->status)) TF_GetInput(c->context, which, &c->tensor[which], c->status);
    if (!is_ok(c->status)) return;
    size_t count = elements(c->tensor[which]);
    const void *values = TF_TensorData(c->tensor[which]);
    double *to = c->numbers[which] = doubles(c, count);
    if (to && is_double(c)) memcpy(to, values, count * sizeof *to);
    else
        for (size_t i = 0; to && i < count; i++) to[i] = ((const float *)values)[i];
}

/* Whether a tensor has two dimensions, (batch, width). */
static int is_table(const Tensor *tensor, int64_t batch, int64_t width) {
    return TF_NumDims(tensor) == 2 && TF_Dim(tensor, 0) == batch && TF_Dim(tensor, 1) == width;
}

static int is_row(const Tensor *tensor, int64_t width) {
    return TF_NumDims(tensor) == 1 && TF_Dim(tensor, 0) == width;
}

static void check_shapes(Call *c) {
    const Sizes *s = &c->sizes;
    const Tensor *inputs = c->tensor[INPUTS], *weights = c->tensor[WEIGHTS], *upstream = c->tensor[UPSTREAM];
    const Tensor *along_inputs = c->tensor[ALONG_INPUTS], *along_weights = c->tensor[ALONG_WEIGHTS];
    int64_t batch = TF_NumDims(inputs) ? TF_Dim(inputs, 0) : 0;
    if (!is_table(inputs, batch, s->inputs) || (along_inputs && !is_table(along_inputs, batch, s->inputs)))
        fail(c->status, INVALID_ARGUMENT, "the inputs of the circuit must have the shape (batch, %d)", s->inputs);
    else if (!is_row(weights, s->weights) || (along_weights && !is_row(along_weights, s->weights)))
        fail(c->status, INVALID_ARGUMENT, "the weights of the circuit must have the shape (%d,)", s->weights);
    else if (upstream && !is_table(upstream, batch, s->readouts))
        fail(c->status, INVALID_ARGUMENT, "the gradients of the values must have the shape (%lld, %d)",
             (long long)batch, s->readouts);
    c->batch = (long)batch;
}

static Call begin(void *kernel, Context *context, int count) {
    Call c = {.context = context, .status = TF_NewStatus(), .circuit = kernel, .sizes = qtj_sizes(kernel)};
    for (int i = 0; i < count; i++) take(&c, i);
    if (is_ok(c.status)) check_shapes(&c);
    return c;
}

static void judge(Call *c, const char *problem) {
    char sentence[SENTENCE];
    if (problem)
        fail(c->status, lacks_memory(problem) ? RESOURCE_EXHAUSTED : INVALID_ARGUMENT, "%s",
             why_it_failed(sentence, problem, c->batch, &c->sizes));
}

/* Hands the result over, in the type of the inputs. */
static void give(Call *c, int index, const double *values, const int64_t *dims, int rank) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    Tensor *out = NULL;
    if (is_ok(c->status))
        out = TF_AllocateOutput(c->context, index, is_double(c) ? DOUBLE : FLOAT, dims, rank,
                                count * (size_t)c->sizes.scalar_bytes, c->status);
    void *to = out && is_ok(c->status) ? TF_TensorData(out) : NULL;
    if (to && is_double(c)) memcpy(to, values, count * sizeof *values);
    else
        for (size_t i = 0; to && i < count; i++) ((float *)to)[i] = (float)values[i];
    if (out) TF_DeleteTensor(out);
}

static void end(Call *c) {
    if (!is_ok(c->status)) TF_OpKernelContext_Failure(c->context, c->status);
    TF_DeleteStatus(c->status);
    for (int i = 0; i < MOST; i++) {
        free(c->numbers[i]);
        if (c->tensor[i]) TF_DeleteTensor(c->tensor[i]);
    }
}

static void expectation(void *kernel, Context *context) {
    Call c = begin(kernel, context, UPSTREAM);
    double *values = is_ok(c.status) ? doubles(&c, (size_t)c.batch * (size_t)c.sizes.readouts) : NULL;
    if (values) judge(&c, qtj_forward(c.circuit, c.batch, c.numbers[INPUTS], c.numbers[WEIGHTS], values));
    give(&c, 0, values, (int64_t[]){c.batch, c.sizes.readouts}, 2);
    free(values);
    end(&c);
}

static void gradients(void *kernel, Context *context) {
    Call c = begin(kernel, context, ALONG_INPUTS);
    double *by_inputs = is_ok(c.status) ? doubles(&c, (size_t)c.batch * (size_t)c.sizes.inputs) : NULL;
    double *by_weights = is_ok(c.status) ? doubles(&c, (size_t)c.sizes.weights) : NULL;
    if (by_inputs && by_weights)
        judge(&c, qtj_backward(c.circuit, c.batch, c.numbers[INPUTS], c.numbers[WEIGHTS], c.numbers[UPSTREAM],
                               by_inputs, by_weights));
    give(&c, 0, by_inputs, (int64_t[]){c.batch, c.sizes.inputs}, 2);
    give(&c, 1, by_weights, (int64_t[]){c.sizes.weights}, 1);
    free(by_inputs);
    free(by_weights);
    end(&c);
}

static void curvature(void *kernel, Context *context) {
    Call c = begin(kernel, context, MOST);
    size_t batch = (size_t)c.batch, inputs = batch * (size_t)c.sizes.inputs, weights = (size_t)c.sizes.weights;
    double *room = is_ok(c.status) ? doubles(&c, inputs + weights + batch * (size_t)c.sizes.readouts) : NULL;
    Slopes out = {room, room ? room + inputs : NULL, room ? room + inputs + weights : NULL};
    Symbols at = {c.numbers[INPUTS], c.numbers[WEIGHTS]}, along = {c.numbers[ALONG_INPUTS], c.numbers[ALONG_WEIGHTS]};
    if (room) judge(&c, qtj_curvature(c.circuit, c.batch, &at, c.numbers[UPSTREAM], &along, &out));
    give(&c, 0, out.inputs, (int64_t[]){c.batch, c.sizes.inputs}, 2);
    give(&c, 1, out.weights, (int64_t[]){c.sizes.weights}, 1);
    give(&c, 2, out.upstream, (int64_t[]){c.batch, c.sizes.readouts}, 2);
    free(room);
    end(&c);
}

/* ---- shapes ---- */

/* (batch, readouts): how many readouts there are the C interface does not let a shape function see; Python knows. */
static void shape_of_values(ShapeContext *context, Status *status) {
    Shape *inputs = TF_NewShapeHandle(), *weights = TF_NewShapeHandle(), *batch = TF_NewShapeHandle();
    Shape *readouts = TF_NewShapeHandle(), *values = TF_NewShapeHandle();
    TF_ShapeInferenceContextGetInput(context, 0, inputs, status);
    if (is_ok(status)) TF_ShapeInferenceContextWithRank(context, inputs, 2, inputs, status);
    if (is_ok(status)) TF_ShapeInferenceContextGetInput(context, 1, weights, status);
    if (is_ok(status)) TF_ShapeInferenceContextWithRank(context, weights, 1, weights, status);
    if (is_ok(status)) TF_ShapeInferenceContextSubshape(context, inputs, 0, 1, batch, status);
    if (is_ok(status)) TF_ShapeInferenceContextWithRank(context, readouts, 1, readouts, status);
    if (is_ok(status)) TF_ShapeInferenceContextConcatenateShapes(context, batch, readouts, values, status);
    if (is_ok(status)) TF_ShapeInferenceContextSetOutput(context, 0, values, status);
    Shape *const all[] = {inputs, weights, batch, readouts, values};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) TF_DeleteShapeHandle(all[i]);
}

/* Each output has the shape of the input with its number, up to the last one. */
static void shapes_of_inputs(ShapeContext *context, Status *status, int last) {
    Shape *shape = TF_NewShapeHandle();
    for (int i = INPUTS; i <= last; i++) {
        if (is_ok(status)) TF_ShapeInferenceContextGetInput(context, i, shape, status);
        if (is_ok(status)) TF_ShapeInferenceContextWithRank(context, shape, i == WEIGHTS ? 1 : 2, shape, status);
        if (is_ok(status)) TF_ShapeInferenceContextSetOutput(context, i, shape, status);
    }
    TF_DeleteShapeHandle(shape);
}

static void shape_of_gradients(ShapeContext *context, Status *status) { shapes_of_inputs(context, status, WEIGHTS); }

static void shape_of_curvature(ShapeContext *context, Status *status) { shapes_of_inputs(context, status, UPSTREAM); }

#include "trajectories_op.h"

/* ---- registration ---- */

static char problem_of_load[256]; /* empty: all operations are registered */

/* Why this library could not register its operations when it was loaded; NULL: it could. A constructor cannot fail, so
 * whoever loads the library asks. */
__attribute__((visibility("default"))) const char *qtj_op_problem(void) {
    return *problem_of_load ? problem_of_load : NULL;
}

typedef struct {
    CreateKernel *create;
    Compute *compute;
    DeleteKernel *delete;
} Kernel;

static void add(const char *name, const char *const *inputs, const char *const *outputs, const char *const *attributes,
                InferShapes *infer, Kernel kernel) {
    Status *status = TF_NewStatus();
    OpBuilder *op = TF_NewOpDefinitionBuilder(name);
    for (; *inputs; inputs++) TF_OpDefinitionBuilderAddInput(op, *inputs);
    for (; *outputs; outputs++) TF_OpDefinitionBuilderAddOutput(op, *outputs);
    for (; *attributes; attributes++) TF_OpDefinitionBuilderAddAttr(op, *attributes);
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, infer);
    TF_RegisterOpDefinition(op, status);
    if (is_ok(status))
        TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", kernel.create, kernel.compute, kernel.delete),
                                 status);
    if (!is_ok(status) && !*problem_of_load)
        snprintf(problem_of_load, sizeof problem_of_load, "it cannot register %s: %s", name, TF_Message(status));
    TF_DeleteStatus(status);
}

__attribute__((constructor)) static void add_operations(void) {
    const char *missing = find_tensorflow();
    if (missing) {
        snprintf(problem_of_load, sizeof problem_of_load, "the process lacks %s", missing);
        return;
    }
    static const char *const of_circuit[] = {"plan: string", "layer: int = 0", "T: {float, double} = DT_FLOAT", NULL};
    add("QtjExpectation", (const char *[]){"inputs: T", "weights: T", NULL}, (const char *[]){"values: T", NULL},
        of_circuit, shape_of_values, (Kernel){create, expectation, delete});
    add("QtjExpectationGrad", (const char *[]){"inputs: T", "weights: T", "upstream: T", NULL},
        (const char *[]){"by_inputs: T", "by_weights: T", NULL}, of_circuit, shape_of_gradients,
        (Kernel){create, gradients, delete});
    add("QtjExpectationGradGrad",
        (const char *[]){"inputs: T", "weights: T", "upstream: T", "along_inputs: T", "along_weights: T", NULL},
        (const char *[]){"by_inputs: T", "by_weights: T", "by_upstream: T", NULL}, of_circuit, shape_of_curvature,
        (Kernel){create, curvature, delete});
    static const char *const none[] = {NULL};
    add("QtjTrajectories", (const char *[]){PROGRAM, BRANCHES, MATRICES, UNIFORMS, NULL},
        (const char *[]){"values: float", NULL}, none, shape_of_trajectories, (Kernel){NULL, trajectories, NULL});
    add("QtjTrajectoriesGrad", (const char *[]){PROGRAM, BRANCHES, MATRICES, UNIFORMS, "upstream: float", NULL},
        (const char *[]){"by_matrices: float", NULL}, none, shape_of_trajectory_gradients,
        (Kernel){NULL, trajectory_gradients, NULL});
}
