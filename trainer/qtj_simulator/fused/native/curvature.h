/* Second derivatives, by the parameter-shift rule. */
#ifndef QTJ_CURVATURE_H
#define QTJ_CURVATURE_H

#include "work.h"

/* Adds to `out`, which is 0; see qtj_curvature. */
const char *engine_curvature(Engine *e, long batch, const Symbols *at, const double *upstream, const Symbols *along,
                             const Slopes *out);

#endif
