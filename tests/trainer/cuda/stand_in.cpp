/* The functions of the CUDA driver that the engine calls, over emulated kernels. Memory of the card is memory of the
 * process, each allocation by itself, and shared memory is exactly as large as a launch asks for: so AddressSanitizer sees
 * what a kernel reads beyond it. */
#include "kernels.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#define API extern "C" __attribute__((visibility("default"))) int

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500 };

typedef void (*Kernel)(const Call &);

static const std::map<std::string, Kernel> kernels = {
#define NAMED(name) {#name, name}
    NAMED(prepare_kinds), NAMED(pull_terms), NAMED(prepare_heads), NAMED(weigh_observables), NAMED(forward),
    NAMED(backward), NAMED(string_values), NAMED(string_seeds), NAMED(fold), NAMED(readouts), NAMED(add_examples),
    NAMED(find_kind_slopes), NAMED(find_head_slopes), NAMED(add_kind_slopes), NAMED(add_head_slopes),
};

static std::map<void *, size_t> allocated;
static int64_t in_use;
static std::mutex one_at_a_time; /* an emulated kernel has its place in variables of the process */
static thread_local int current;

/* What tests change: the memory of the card, how many cards there are, a card that computes wrongly, or fails. */
extern "C" {
int64_t stand_in_memory = (int64_t)1 << 30;
int64_t stand_in_hidden = 0; /* in use, but said to be free */
int64_t stand_in_cards = 1;
int64_t stand_in_wrong = 0;
int64_t stand_in_fails = 0;
int64_t stand_in_launches = 0;
int64_t stand_in_launches_elsewhere = 0; /* not on the first card */
int64_t stand_in_backwards = 0;
}

API stand_in_call_bytes() { return (int)sizeof(Call); }
API stand_in_in_use() { return (int)in_use; }

API cuInit(unsigned) { return stand_in_cards ? OK : NO_DEVICE; }
API cuDeviceGetCount(int *count) { return *count = (int)stand_in_cards, OK; }
API cuDeviceGet(int *device, int number) { return *device = number, OK; }
API cuDeviceGetName(char *name, int size, int) { return std::strncpy(name, "stand-in", (size_t)size), OK; }
API cuDeviceGetAttribute(int *value, int attribute, int) {
    /* multiprocessors, compute capability, clocks in kHz, bits of the bus */
    *value = attribute == 16 ? 2 : attribute == 75 ? 9 : attribute == 13 || attribute == 36 ? 1000000 : attribute == 37 ? 64 : 0;
    return OK;
}
API cuDevicePrimaryCtxRetain(void **context, int number) { return *context = (void *)(intptr_t)number, OK; }
API cuCtxSetCurrent(void *context) { return current = (int)(intptr_t)context, OK; }
API cuCtxSynchronize() { return OK; }
API cuModuleLoadData(void **module, const void *) { return *module = nullptr, OK; }
API cuModuleGetFunction(const void **function, void *, const char *name) {
    auto found = kernels.find(name);
    if (found == kernels.end()) return NOT_FOUND;
    *function = &found->second;
    return OK;
}
API cuFuncSetAttribute(void *, int, int) { return OK; }
API cuGetErrorString(int code, const char **text) {
    *text = code == OUT_OF_MEMORY ? "out of memory" : code == NO_DEVICE ? "no CUDA-capable device is detected" : "invalid";
    return OK;
}

API cuMemGetInfo_v2(size_t *free, size_t *total) {
    *total = (size_t)stand_in_memory;
    *free = (size_t)(stand_in_memory - in_use);
    return OK;
}
API cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    std::lock_guard<std::mutex> alone(one_at_a_time);
    if (!bytes) return INVALID;
    if (in_use + stand_in_hidden + (int64_t)bytes > stand_in_memory) return OUT_OF_MEMORY;
    void *memory = std::malloc(bytes);
    std::memset(memory, 0xFF, bytes); /* not a number, until it is written */
    allocated[memory] = bytes;
    in_use += (int64_t)bytes;
    *address = (unsigned long long)memory;
    return OK;
}
API cuMemFree_v2(unsigned long long address) {
    std::lock_guard<std::mutex> alone(one_at_a_time);
    auto found = allocated.find((void *)address);
    if (found == allocated.end()) return INVALID;
    in_use -= (int64_t)found->second;
    std::free(found->first);
    allocated.erase(found);
    return OK;
}
API cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
    return std::memcpy((void *)to, from, bytes), OK;
}
API cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
    std::memcpy(to, (void *)from, bytes);
    if (stand_in_wrong && bytes >= 8) *(double *)to += stand_in_wrong == 1 ? 0.01 : NAN;
    return OK;
}
API cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) {
    return std::memset((void *)to, value, bytes), OK;
}

API cuLaunchKernel(const void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void *, void **arguments, void **) {
    if (!x || !y || y > 65535 || z != 1 || !threads || threads > 256 || threads_y != 1 || threads_z != 1) return INVALID;
    if (stand_in_fails) return INVALID;
    std::lock_guard<std::mutex> alone(one_at_a_time);
    stand_in_launches++;
    stand_in_launches_elsewhere += current != 0;
    backwards = stand_in_backwards != 0;
    gridDim = {x, y};
    blockDim = {threads, 1};
    for (unsigned number = 0; number < y; number++)
        for (unsigned other = 0; other < x; other++) {
            blockIdx = backwards ? Index{x - 1 - other, y - 1 - number} : Index{other, number};
            shared_memory = (char *)std::malloc(shared);
            std::memset(shared_memory, 0xFF, shared);
            (*(const Kernel *)function)(*(const Call *)arguments[0]);
            std::free(shared_memory);
        }
    return OK;
}
