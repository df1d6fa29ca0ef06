/* What a call does: walks over a batch, forward and back. */
#ifndef QTJ_WALK_H
#define QTJ_WALK_H

#include "work.h"

const char *make_base(Engine *e); /* the state after the constant beginning of the circuit, computed once */
const char *walk_forward(Engine *e, long batch, const double *inputs, const double *weights);
int is_known(const Engine *e, long batch, const double *inputs, const double *weights); /* by the last forward call */
void walk_backward(Engine *e);                                                          /* after it */

#endif
