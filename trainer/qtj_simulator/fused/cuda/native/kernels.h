/* Kernels that execute a packed plan (../../program.py) on a GPU: all of them, in the order of a call. Compiled by NVRTC,
 * without other headers; and by a C++ compiler, with "emulated.h" of the tests, which runs blocks and threads as loops.
 *
 *   BITS  the bits of a real number: 32 or 64
 *
 * A kernel is a sequence of phases, FOR_EACH_THREAD, each of which ends when all threads of the block have done it. Nothing
 * that a thread computes for itself outlives its phase, and in a phase no thread reads what another one writes. A vector
 * has one amplitude: no qubits and no examples are in lanes. */
#include "machine.h"

#include "call.h"

#include "algebra.h"

#include "prepare.h"

#include "sweeps.h"

#include "pauli_strings.h"

#include "slopes.h"
