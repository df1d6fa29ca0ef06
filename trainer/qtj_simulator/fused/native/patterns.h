/* Which entries of a 4x4 matrix may be other than 0, by the difference between row and column, row ^ column: bit d of a
 * pattern is for the difference d. */
#ifndef QTJ_PATTERNS_H
#define QTJ_PATTERNS_H

enum {
    DIAGONAL = 1 << 0,
    FIRST_KEPT = 1 << 0 | 1 << 1,  /* the first qubit keeps its value */
    SECOND_KEPT = 1 << 0 | 1 << 2, /* the second one does */
    EVEN = 1 << 0 | 1 << 3,        /* parity: 00 and 11 never become 01 or 10 */
    FULL = (1 << 4) - 1,
};

#endif
