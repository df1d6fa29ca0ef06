/* From symbols to angles, and from the gradients of angles to those of symbols. */
#ifndef QTJ_ANGLES_H
#define QTJ_ANGLES_H

#include "work.h"

void find_angles(Engine *e);
void find_slopes(const Engine *e, double *by_inputs, double *by_weights);

#endif
