/* What op.c calls of TensorFlow's C interface, by the documentation of tensorflow/c/ops.h, kernels.h, tf_tensor.h and
 * tf_status.h. It is looked up in the process, so that nothing of TensorFlow is needed to compile or link. */
#ifndef QTJ_TENSORFLOW_H
#define QTJ_TENSORFLOW_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TF_Status Status;
typedef struct TF_Tensor Tensor;
typedef struct TF_OpKernelContext Context;
typedef struct TF_OpKernelConstruction Construction;
typedef struct TF_OpDefinitionBuilder OpBuilder;
typedef struct TF_KernelBuilder KernelBuilder;
typedef struct TF_ShapeInferenceContext ShapeContext;
typedef struct TF_ShapeHandle Shape;

typedef void *CreateKernel(Construction *);
typedef void Compute(void *kernel, Context *);
typedef void DeleteKernel(void *kernel);
typedef void InferShapes(ShapeContext *, Status *);

enum { OK, INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8 };
enum { FLOAT = 1, DOUBLE = 2 };

#define TENSORFLOW(DO) \
    DO(Status *, TF_NewStatus, (void)) \
    DO(void, TF_DeleteStatus, (Status *)) \
    DO(void, TF_SetStatus, (Status *, int code, const char *)) \
    DO(int, TF_GetCode, (const Status *)) \
    DO(const char *, TF_Message, (const Status *)) \
    DO(int, TF_NumDims, (const Tensor *)) \
    DO(int64_t, TF_Dim, (const Tensor *, int)) \
    DO(void *, TF_TensorData, (const Tensor *)) \
    DO(void, TF_DeleteTensor, (Tensor *)) \
    DO(void, TF_GetInput, (Context *, int, Tensor **, Status *)) \
    DO(Tensor *, TF_AllocateOutput, (Context *, int, int type, const int64_t *, int, size_t, Status *)) \
    DO(void, TF_OpKernelContext_Failure, (Context *, Status *)) \
    DO(void, TF_OpKernelConstruction_Failure, (Construction *, Status *)) \
    DO(void, TF_OpKernelConstruction_GetAttrSize, (Construction *, const char *, int32_t *, int32_t *, Status *)) \
    DO(void, TF_OpKernelConstruction_GetAttrString, (Construction *, const char *, char *, size_t, Status *)) \
    DO(void, TF_OpKernelConstruction_GetAttrInt64, (Construction *, const char *, int64_t *, Status *)) \
    DO(void, TF_OpKernelConstruction_GetAttrType, (Construction *, const char *, int *, Status *)) \
    DO(OpBuilder *, TF_NewOpDefinitionBuilder, (const char *)) \
    DO(void, TF_OpDefinitionBuilderAddInput, (OpBuilder *, const char *)) \
    DO(void, TF_OpDefinitionBuilderAddOutput, (OpBuilder *, const char *)) \
    DO(void, TF_OpDefinitionBuilderAddAttr, (OpBuilder *, const char *)) \
    DO(void, TF_OpDefinitionBuilderSetShapeInferenceFunction, (OpBuilder *, InferShapes *)) \
    DO(void, TF_RegisterOpDefinition, (OpBuilder *, Status *)) \
    DO(KernelBuilder *, TF_NewKernelBuilder, (const char *, const char *, CreateKernel *, Compute *, DeleteKernel *)) \
    DO(void, TF_RegisterKernelBuilder, (const char *, KernelBuilder *, Status *)) \
    DO(Shape *, TF_NewShapeHandle, (void)) \
    DO(void, TF_DeleteShapeHandle, (Shape *)) \
    DO(void, TF_ShapeInferenceContextGetInput, (ShapeContext *, int, Shape *, Status *)) \
    DO(void, TF_ShapeInferenceContextSetOutput, (ShapeContext *, int, Shape *, Status *)) \
    DO(void, TF_ShapeInferenceContextWithRank, (ShapeContext *, Shape *, int64_t, Shape *, Status *)) \
    DO(void, TF_ShapeInferenceContextSubshape, (ShapeContext *, Shape *, int64_t, int64_t, Shape *, Status *)) \
    DO(void, TF_ShapeInferenceContextConcatenateShapes, (ShapeContext *, Shape *, Shape *, Shape *, Status *))

#define DECLARE(result, name, arguments) static result(*name) arguments;
TENSORFLOW(DECLARE)

/* Returns what the process lacks of it, or NULL if all is there. */
static const char *find_tensorflow(void) {
    static const char NAME[] = "libtensorflow_framework.so.2";
    void *library = dlopen(NAME, RTLD_NOW | RTLD_NOLOAD);
    if (!library) return NAME;
#define FIND(result, name, arguments) \
    if (!(*(void **)&name = dlsym(library, #name))) return #name;
    TENSORFLOW(FIND)
    return NULL;
}

#endif
