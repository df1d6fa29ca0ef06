/* Operations of TensorFlow for noisy circuits, a part of op.c:
 *
 *   QtjTrajectories      values [rows, trajectories, terms]
 *   QtjTrajectoriesGrad  the gradients of sum(upstream * values) by the matrices, with the branches as they were chosen
 *
 * of a program (trajectories.h), branches [branches, 33], matrices [rows, blocks, 32] and uniforms
 * [rows, trajectories, channels]. They are functions of their inputs alone. */
#include "trajectories.h"

#define PROGRAM "program: int32"
#define BRANCHES "branches: float"
#define MATRICES "matrices: float"
#define UNIFORMS "uniforms: float"

enum { OF_PROGRAM, OF_BRANCHES, OF_MATRICES, OF_UNIFORMS, OF_UPSTREAM, OF_ALL };

typedef struct {
    Context *context;
    Status *status;
    Tensor *tensor[OF_ALL];
    Trajectories given;
    int terms;
} TrajectoryCall;

static int is_box(const Tensor *tensor, int64_t rows, int64_t middle, int64_t width) {
    return TF_NumDims(tensor) == 3 && (rows < 0 || TF_Dim(tensor, 0) == rows) &&
           (middle < 0 || TF_Dim(tensor, 1) == middle) && (width < 0 || TF_Dim(tensor, 2) == width);
}

static void check_trajectory_shapes(TrajectoryCall *c) {
    Trajectories *g = &c->given;
    if (!is_box(c->tensor[OF_MATRICES], -1, -1, 32)) {
        fail(c->status, INVALID_ARGUMENT, "the matrices of a noisy circuit must have the shape (rows, blocks, 32)");
        return;
    }
    g->rows = (long)TF_Dim(c->tensor[OF_MATRICES], 0);
    g->blocks = (long)TF_Dim(c->tensor[OF_MATRICES], 1);
    if (!is_box(c->tensor[OF_UNIFORMS], g->rows, -1, -1)) {
        fail(c->status, INVALID_ARGUMENT,
             "the random numbers of a noisy circuit must have the shape (%ld, trajectories, channels)", g->rows);
        return;
    }
    g->trajectories = (long)TF_Dim(c->tensor[OF_UNIFORMS], 1);
    g->channels = (long)TF_Dim(c->tensor[OF_UNIFORMS], 2);
    if (c->tensor[OF_UPSTREAM] && !is_box(c->tensor[OF_UPSTREAM], g->rows, g->trajectories, c->terms))
        fail(c->status, INVALID_ARGUMENT, "the gradients of the values must have the shape (%ld, %ld, %d)", g->rows,
             g->trajectories, c->terms);
}

static void read_tensors(TrajectoryCall *c) {
    Trajectories *g = &c->given;
    g->program = TF_TensorData(c->tensor[OF_PROGRAM]);
    g->integers = elements(c->tensor[OF_PROGRAM]);
    g->branches = TF_TensorData(c->tensor[OF_BRANCHES]);
    g->branch_numbers = elements(c->tensor[OF_BRANCHES]);
    g->matrices = TF_TensorData(c->tensor[OF_MATRICES]);
    g->uniforms = TF_TensorData(c->tensor[OF_UNIFORMS]);
    g->upstream = c->tensor[OF_UPSTREAM] ? TF_TensorData(c->tensor[OF_UPSTREAM]) : NULL;
    c->terms = qtj_trajectory_terms(g->program, g->integers);
    if (c->terms < 0) fail(c->status, INVALID_ARGUMENT, "the fused engine: the program of the noisy circuit is damaged");
    else check_trajectory_shapes(c);
}

static TrajectoryCall begin_trajectories(Context *context, int count) {
    TrajectoryCall c = {.context = context, .status = TF_NewStatus()};
    for (int i = 0; i < count && is_ok(c.status); i++) TF_GetInput(context, i, &c.tensor[i], c.status);
    if (is_ok(c.status)) read_tensors(&c);
    return c;
}

static float *trajectory_output(TrajectoryCall *c, Tensor **out, int64_t middle, int64_t width) {
    if (!is_ok(c->status)) return NULL;
    int64_t dims[] = {c->given.rows, middle, width};
    size_t bytes = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2] * sizeof(float);
    *out = TF_AllocateOutput(c->context, 0, FLOAT, dims, 3, bytes, c->status);
    if (!is_ok(c->status)) return NULL;
    float *to = TF_TensorData(*out);
    if (bytes) memset(to, 0, bytes);
    return to;
}

static void end_trajectories(TrajectoryCall *c, Tensor *out) {
    const char *problem = is_ok(c->status) ? qtj_trajectories("", 0, &c->given) : NULL;
    if (problem)
        fail(c->status, lacks_memory(problem) ? RESOURCE_EXHAUSTED : INVALID_ARGUMENT, "the fused engine: %s",
             problem == QTJ_NO_MEMORY ? "out of memory for the trajectories of a batch: take fewer qubits or examples"
                                      : problem);
    if (!is_ok(c->status)) TF_OpKernelContext_Failure(c->context, c->status);
    TF_DeleteStatus(c->status);
    if (out) TF_DeleteTensor(out);
    for (int i = 0; i < OF_ALL; i++)
        if (c->tensor[i]) TF_DeleteTensor(c->tensor[i]);
}

static void trajectories(void *kernel, Context *context) {
    (void)kernel;
    Tensor *out = NULL;
    TrajectoryCall c = begin_trajectories(context, OF_UPSTREAM);
    c.given.values = trajectory_output(&c, &out, c.given.trajectories, c.terms);
    end_trajectories(&c, out);
}

static void trajectory_gradients(void *kernel, Context *context) {
    (void)kernel;
    Tensor *out = NULL;
    TrajectoryCall c = begin_trajectories(context, OF_ALL);
    c.given.by_matrices = trajectory_output(&c, &out, c.given.blocks, 32);
    end_trajectories(&c, out);
}

/* (rows, trajectories, terms): only Python knows how many terms there are. */
static void shape_of_trajectories(ShapeContext *context, Status *status) {
    Shape *uniforms = TF_NewShapeHandle(), *terms = TF_NewShapeHandle(), *values = TF_NewShapeHandle();
    TF_ShapeInferenceContextGetInput(context, OF_UNIFORMS, uniforms, status);
    if (is_ok(status)) TF_ShapeInferenceContextWithRank(context, uniforms, 3, uniforms, status);
    if (is_ok(status)) TF_ShapeInferenceContextSubshape(context, uniforms, 0, 2, uniforms, status);
    if (is_ok(status)) TF_ShapeInferenceContextWithRank(context, terms, 1, terms, status);
    if (is_ok(status)) TF_ShapeInferenceContextConcatenateShapes(context, uniforms, terms, values, status);
    if (is_ok(status)) TF_ShapeInferenceContextSetOutput(context, 0, values, status);
    TF_DeleteShapeHandle(uniforms);
    TF_DeleteShapeHandle(terms);
    TF_DeleteShapeHandle(values);
}

static void shape_of_trajectory_gradients(ShapeContext *context, Status *status) {
    Shape *matrices = TF_NewShapeHandle();
    TF_ShapeInferenceContextGetInput(context, OF_MATRICES, matrices, status);
    if (is_ok(status)) TF_ShapeInferenceContextSetOutput(context, 0, matrices, status);
    TF_DeleteShapeHandle(matrices);
}
