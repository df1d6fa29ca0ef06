/* From symbols to angles, and from the gradients of angles to those of symbols. */
#ifndef QTJ_ANGLES_H
#define QTJ_ANGLES_H

#include "work.h"

void find_angles(Engine *e);
/* How fast an angle moves where the symbols move with `along`: for each example. */
void find_rates(const Plan *p, int angle, long batch, const Symbols *along, double *rates);
void find_slopes(const Engine *e, double *by_inputs, double *by_weights);

#endif
