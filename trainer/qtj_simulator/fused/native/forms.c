/* Finds what is special about the matrices of blocks. */
#include "forms.h"

#include <string.h>

static int is_real(const float *m, int at) { return m[16 + at] == 0; }
static int is_imaginary(const float *m, int at) { return m[at] == 0; }
static int is_zero(const float *m, int at) { return m[at] == 0 && m[16 + at] == 0; }

static int pattern_of(const float *m) {
    static const int KNOWN[] = {DIAGONAL, FIRST_KEPT, SECOND_KEPT, EVEN};
    int differences = 0;
    for (int at = 0; at < 16; at++) differences |= !is_zero(m, at) << (at / 4 ^ at % 4);
    for (int i = 0; i < 4; i++)
        if (!(differences & ~KNOWN[i])) return KNOWN[i];
    return FULL;
}

/* An entry is real where both parts are the same, and imaginary where they differ. So each part that is known gives those
 * of the columns in its row. A matrix that these do not fit is not turned. */
static int choose_parts(const float *m, unsigned char part[4]) {
    int known = 0;
    for (int row = 0; row < 4; row++) {
        known |= 1 << row;
        for (int column = 0; column < 4; column++) {
            int at = 4 * row + column;
            if (known >> column & 1 || is_zero(m, at)) continue;
            part[column] = part[row] ^ (unsigned char)!is_real(m, at);
            known |= 1 << column;
        }
    }
    for (int at = 0; at < 16; at++)
        if (!(part[at / 4] ^ part[at % 4] ? is_imaginary(m, at) : is_real(m, at))) return 0;
    return 1;
}

Form form_of(const float *m) {
    Form f = {.pattern = pattern_of(m)};
    memcpy(f.entries, m, sizeof f.entries);
    if (f.pattern == DIAGONAL || !choose_parts(m, f.part)) return f; /* one load and store takes as long as its products */
    f.is_turned = 1;
    for (int at = 0; at < 16; at++) {
        int part = f.part[at / 4], differ = part ^ f.part[at % 4];
        float entry = m[differ ? 16 + at : at];
        f.entries[at] = differ && !part ? -entry : entry;
        f.entries[16 + at] = differ && part ? -entry : entry;
    }
    return f;
}

Form adjoint_of(const Form *f) {
    Form a = *f;
    for (int at = 0; at < 16; at++) {
        float other = f->entries[16 + 4 * (at % 4) + at / 4];
        a.entries[at] = f->entries[4 * (at % 4) + at / 4];
        a.entries[16 + at] = f->is_turned ? other : -other;
    }
    return a;
}
