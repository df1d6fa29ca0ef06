/* What call.c reads and writes of XLA's interface for custom calls, by the documentation of xla/ffi/api/c_api.h: the
 * layouts have been the same from version 0.1 to 0.5 (jaxlib 0.5.3 and 0.12). Nothing of XLA is needed to compile or
 * link. */
#ifndef QTJ_XLA_H
#define QTJ_XLA_H

#include <stddef.h>
#include <stdint.h>

enum { INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8 };
enum { ARRAY = 1, SCALAR = 3, STRING = 4 }; /* kinds of attributes */
enum { SIGNED_64 = 5, UNSIGNED_8 = 6, UNSIGNED_64 = 9, FLOAT = 11, DOUBLE = 12 };
enum { METADATA = 1 }; /* the extension of a frame that asks for a version and calls nothing */
enum { MAJOR = 0, MINOR = 1 };

typedef struct Failure Failure;

typedef struct {
    size_t size;
    int type;
    void *next;
} Extension;

typedef struct {
    size_t size;
    Extension *extensions;
    int major, minor;
} Version;

typedef struct {
    size_t size;
    Version version;
    uint32_t traits;
} Metadata;

typedef struct {
    Extension base;
    Metadata *metadata;
} MetadataExtension;

typedef struct {
    size_t size;
    Extension *extensions;
    const char *sentence;
    int code;
} Failing;

typedef struct {
    size_t size;
    Extension *extensions;
    Version version;
    void *internal;
    Failure *(*fail)(Failing *);
} Interface;

typedef struct {
    size_t size;
    Extension *extensions;
    int type;
    void *data;
    int64_t rank, *dims;
} Buffer;

typedef struct {
    size_t size;
    Extension *extensions;
    int64_t count;
    int *types;
    Buffer **buffers;
} Buffers;

typedef struct {
    const char *bytes;
    size_t size;
} Text;

typedef struct {
    int type;
    int64_t *number;
} Number;

typedef struct {
    int type;
    size_t count;
    const char *bytes;
} Bytes;

/* Sorted by their names. */
typedef struct {
    size_t size;
    Extension *extensions;
    int64_t count;
    int *types;
    Text **names;
    void **values;
} Attributes;

typedef struct {
    size_t size;
    Extension *extensions;
    const Interface *interface;
    void *context;
    int stage;
    Buffers given, results;
    Attributes attributes;
} Frame;

#endif
