/* The real numbers that states are made of, and what sweeps read of a call in that precision. Included by what is compiled
 * once for each precision, with
 *   BITS  the bits of a number: 32 or 64 */
#ifndef QTJ_SCALARS_H
#define QTJ_SCALARS_H

#include "work.h"

#if BITS == 32
typedef float scalar;
typedef int32_t lane_index; /* as wide as a scalar */
#else
typedef double scalar;
typedef int64_t lane_index;
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

Piece JOIN(store_unitary_, BITS);     /* of a kind */
Piece JOIN(weigh_observables_, BITS); /* of a group */

#endif
