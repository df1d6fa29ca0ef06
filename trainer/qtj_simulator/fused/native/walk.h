/* What a call does: walks over a batch, forward and back. */
#ifndef QTJ_WALK_H
#define QTJ_WALK_H

#include "room.h"
#include "work.h"

/* The state after the constant beginning of the circuit, computed once. Where there is no room for it beside the two states
 * of a gradient there is none, and each call computes the beginning again. */
const char *make_base(Engine *e);
const char *walk_forward(Engine *e, long batch, const double *inputs, const double *weights, Purpose purpose);
int is_known(const Engine *e, long batch, const double *inputs, const double *weights); /* by the last forward call */
void walk_backward(Engine *e); /* after it, with the room for gradients */

#endif
