/* 4x4 matrices in double precision, row-major, as in ../../native/algebra.c, which has the formulas. The order of the 16
 * sums of a Hermitian or anti-Hermitian matrix is that of ../../native/sums.h. */
typedef struct {
    double re[16], im[16];
} Matrix;

#define PI 3.14159265358979323846

/* Where the states a < b of the sums 4 + x and 10 + x are in a matrix, and where b, a. */
DEVICE int above(int x) { return x < 3 ? 1 + x : x < 5 ? 3 + x : 11; }

DEVICE int below(int x) {
    int at = above(x);
    return 4 * (at % 4) + at / 4;
}

DEVICE void read_matrix(const double *from, Matrix &to) {
    for (int i = 0; i < 16; i++) {
        to.re[i] = from[i];
        to.im[i] = from[16 + i];
    }
}

template <typename number> DEVICE void write_matrix(const Matrix &from, number *to) {
    for (int i = 0; i < 16; i++) {
        to[i] = (number)from.re[i];
        to[16 + i] = (number)from.im[i];
    }
}

ROUTINE void multiply(const Matrix &a, const Matrix &b, Matrix &out) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double re = 0, im = 0;
            for (int k = 0; k < 4; k++) {
                double ar = a.re[4 * i + k], ai = a.im[4 * i + k], br = b.re[4 * k + j], bi = b.im[4 * k + j];
                re += ar * br - ai * bi;
                im += ar * bi + ai * br;
            }
            out.re[4 * i + j] = re;
            out.im[4 * i + j] = im;
        }
}

ROUTINE void adjoint(const Matrix &a, Matrix &out) {
    for (int i = 0; i < 16; i++) {
        int from = 4 * (i % 4) + i / 4;
        out.re[i] = a.re[from];
        out.im[i] = -a.im[from];
    }
}

/* b becomes a^dag b a. */
ROUTINE void conjugate(const Matrix &a, Matrix &b) {
    Matrix left, product;
    adjoint(a, left);
    multiply(b, a, product);
    multiply(left, product, b);
}

/* The matrix of a gate at an angle in half turns. */
ROUTINE void gate_matrix(const Call &c, const int *gate, double angle, Matrix &out) {
    for (int i = 0; i < 16; i++) out.re[i] = out.im[i] = 0;
    for (int k = 0; k < gate[0]; k++) {
        const double *part = c.constants + gate[2] + COMPONENT * k;
        double re = cos(PI * part[0] * angle), im = sin(PI * part[0] * angle);
        for (int i = 0; i < 16; i++) {
            out.re[i] += re * part[1 + i] - im * part[17 + i];
            out.im[i] += re * part[17 + i] + im * part[1 + i];
        }
    }
}

DEVICE void gate_at(const Call &c, const int *gate, const double *angles, Matrix &out) {
    gate_matrix(c, gate, gate[1] < 0 ? 0 : angles[gate[1]], out);
}

/* The product of gates, the first acting first. */
ROUTINE void product_of(const Call &c, const int *gates, int count, const double *angles, Matrix &out) {
    Matrix gate, next;
    for (int i = 0; i < 16; i++) {
        out.re[i] = i % 5 == 0;
        out.im[i] = 0;
    }
    for (int g = 0; g < count; g++) {
        gate_at(c, gate_of(c, gates[g]), angles, gate);
        multiply(gate, out, next);
        out = next;
    }
}

DEVICE void anti_hermitian(const double *sums, Matrix &n) {
    for (int i = 0; i < 16; i++) n.re[i] = n.im[i] = 0;
    for (int a = 0; a < 4; a++) n.im[5 * a] = sums[a];
    for (int x = 0; x < 6; x++) {
        n.re[below(x)] = sums[4 + x] / 2;
        n.re[above(x)] = -sums[4 + x] / 2;
        n.im[below(x)] = n.im[above(x)] = sums[10 + x] / 2;
    }
}

DEVICE void density_matrix(const double *sums, Matrix &rho) {
    for (int a = 0; a < 4; a++) {
        rho.re[5 * a] = sums[a];
        rho.im[5 * a] = 0;
    }
    for (int x = 0; x < 6; x++) {
        rho.re[above(x)] = rho.re[below(x)] = sums[4 + x];
        rho.im[above(x)] = sums[10 + x];
        rho.im[below(x)] = -sums[10 + x];
    }
}

/* tr(O rho), O Hermitian: 16 real and 16 imaginary parts. */
DEVICE double expectation(const double *o, const double *rho) {
    double diagonal = 0, rest = 0;
    for (int a = 0; a < 4; a++) diagonal += o[5 * a] * rho[a];
    for (int x = 0; x < 6; x++) rest += o[above(x)] * rho[4 + x] + o[16 + above(x)] * rho[10 + x];
    return diagonal + 2 * rest;
}

/* -2 pi Im tr(H n) with H = sum_k lambda_k P_k: the derivative by a gate's angle. */
ROUTINE double slope(const Call &c, const int *gate, const Matrix &n) {
    double sum = 0;
    for (int k = 0; k < gate[0]; k++) {
        const double *part = c.constants + gate[2] + COMPONENT * k;
        double trace = 0;
        for (int i = 0; i < 16; i++) {
            int transposed = 4 * (i % 4) + i / 4;
            trace += part[1 + i] * n.im[transposed] + part[17 + i] * n.re[transposed];
        }
        sum += part[0] * trace;
    }
    return -2 * PI * sum;
}

/* The derivatives by the angles of gates, the last one first; n is taken back through them. */
ROUTINE void slopes_of(const Call &c, const int *gates, int count, const double *angles, Matrix &n, double *slopes) {
    Matrix gate;
    for (int g = count - 1; g >= 0; g--) {
        const int *which = gate_of(c, gates[g]);
        slopes[g] = which[1] < 0 ? 0 : slope(c, which, n);
        gate_at(c, which, angles, gate);
        conjugate(gate, n);
    }
}
