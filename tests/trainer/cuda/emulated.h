/* A GPU as loops: what native/machine.h of the kernels needs. A phase runs all threads of a block, one after the other;
 * `backwards` runs them in the opposite order, which changes the results of kernels that lack a barrier. */
#include <cmath>

using std::cos;
using std::sin;

struct Index {
    unsigned x, y;
};

static Index blockIdx, blockDim, gridDim;
static char *shared_memory;
static int backwards;

#define DEVICE static inline
#define ROUTINE static
#define KERNEL(name) static void name(const Call &c)
#define FOR_EACH_THREAD(t)                                                                                              \
    for (unsigned turn = 0, t = backwards ? blockDim.x - 1 : 0; turn < blockDim.x; turn++, t += backwards ? -1u : 1u)
#define UNROLL
#define __popc __builtin_popcount
