/* 4x4 matrices in double precision: what is done once per call, not once per amplitude. */
#ifndef QTJ_ALGEBRA_H
#define QTJ_ALGEBRA_H

#include "work.h"

Piece prepare_gate, prepare_kind, pull_term; /* before a sweep, in this order */
Piece example_values;                        /* after the values' sweep */
Piece term_sums, kind_gradient;              /* after a gradients' sweep, in this order */

#endif
