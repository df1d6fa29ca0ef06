/* What a kernel needs of the machine: a GPU, as NVRTC compiles for it, or the emulation. */
#if BITS == 32
typedef float scalar;
#else
typedef double scalar;
#endif
typedef unsigned long long size;

#ifdef __CUDACC_RTC__
#define DEVICE static __device__ __forceinline__
#define ROUTINE static __device__ __noinline__ /* once in the program, which compiles faster */
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) name(const Call c)
#define FOR_EACH_THREAD(t) for (unsigned t = threadIdx.x, once = 1; once; once = 0, __syncthreads())
#define UNROLL _Pragma("unroll")
extern __shared__ double2 shared_memory[];
#else
#include "emulated.h"
#endif

/* Numbers 0..count, divided over all threads of all blocks. */
#define FOR_EACH_INDEX(i, count)                                                                                        \
    FOR_EACH_THREAD(t)                                                                                                  \
    for (size i = (size)blockIdx.x * blockDim.x + t, end = (count); i < end; i += (size)gridDim.x * blockDim.x)
