/* The 16 real sums that stand for a Hermitian or an anti-Hermitian 4x4 matrix, in the order in which they are everywhere:
 *
 *                                   of M_ab = sum conj(lambda_a) psi_b    of rho_ab = sum psi_a conj(psi_b)
 *     a = 0..3                      Im M_aa                               rho_aa
 *     ab = 01 02 03 12 13 23        Re M_ab - Re M_ba                     Re rho_ab
 *     the same                      Im M_ab + Im M_ba                     Im rho_ab
 */
#ifndef QTJ_SUMS_H
#define QTJ_SUMS_H

enum { PAIRS = 6 };
/* Where ab and ba are in a row-major matrix. */
static const int HIGH[PAIRS] = {1, 2, 3, 6, 7, 11}, LOW[PAIRS] = {4, 8, 12, 9, 13, 14};

/* Where the real part of ab, a < b, is among the sums; the imaginary part is six further. */
static inline __attribute__((always_inline)) int sum_of(int a, int b) { return a == 0 ? 3 + b : a == 1 ? 5 + b : 9; }

#endif
