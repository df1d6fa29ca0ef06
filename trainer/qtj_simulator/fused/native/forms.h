/* What is special about a block's matrix, so that it takes fewer multiplications. */
#ifndef QTJ_FORMS_H
#define QTJ_FORMS_H

#include "patterns.h"

/* A matrix U is turned if U = D R D* with a diagonal D of 1 and i, and each entry of U real or imaginary. Then, for
 * y = U x, one real matrix makes parts of y of the same parts of x, and another one the other parts. Rotations about X
 * and Y are turned, and those about XX and YY, and their products. */
typedef struct {
    float entries[32];     /* row by row: of U, real and imaginary; turned: the two real matrices */
    int pattern, is_turned;
    unsigned char part[4]; /* turned: the first matrix is for this part of x_i and y_i, 0 for the real one */
} Form;

/* Of a matrix of 16 real and 16 imaginary parts. */
Form form_of(const float *matrix);
Form adjoint_of(const Form *form);

#endif
