/* Pauli strings on more than two qubits: over the whole state. P|j> = i^phase (-1)^popcount(j & z) |j ^ x>. */

DEVICE const int *string_of(const Call &c, int number) { return c.program + c.strings_at + STRING_INTS * number; }

/* Amplitude v of P psi. */
DEVICE amplitude string_amplitude(const int *string, const amplitude *psi, unsigned v) {
    unsigned j = v ^ (unsigned)string[2];
    scalar sign = __popc(j & (unsigned)string[3]) & 1 ? -1 : 1;
    scalar re = sign * psi[j].re, im = sign * psi[j].im;
    switch (string[1]) {
        case 0: return amplitude{re, im};
        case 1: return amplitude{-im, re};
        case 2: return amplitude{-re, -im};
        default: return amplitude{im, -re};
    }
}

DEVICE void string_value(const Call &c, int number, const amplitude *psi, double *to) {
    double *scratch = (double *)shared_memory;
    FOR_EACH_THREAD(t) {
        double sum = 0;
        for (size v = (size)blockIdx.y * blockDim.x + t; v >> c.qubits == 0; v += (size)gridDim.y * blockDim.x) {
            amplitude p = string_amplitude(string_of(c, number), psi, (unsigned)v);
            sum += (double)(psi[v].re * p.re + psi[v].im * p.im);
        }
        scratch[t] = sum;
    }
    FOR_EACH_THREAD(t)
    if (t == 0) {
        double sum = 0;
        for (unsigned i = 0; i < blockDim.x; i++) sum += scratch[i];
        *to = sum;
    }
}

/* The sums <psi|P|psi>. */
KERNEL(string_values) {
    double *sums = sums_of(c, blockIdx.x, blockIdx.y);
    for (int k = 0; k < c.strings; k++)
        string_value(c, k, c.psi + ((size)blockIdx.x << c.qubits), sums + string_column(c, k));
}

/* lambda = sum of (dL/d<P>) P psi: 0 where there are no strings. */
KERNEL(string_seeds) {
    FOR_EACH_INDEX(i, (size)c.examples << c.qubits) {
        size example = i >> c.qubits, first = example << c.qubits;
        amplitude sum = {0, 0};
        for (int k = 0; k < c.strings; k++) {
            const int *string = string_of(c, k);
            amplitude p = string_amplitude(string, c.psi + first, (unsigned)(i - first));
            scalar weight = (scalar)(c.constants[string[6]] * c.upstream[example * (size)c.readouts + (size)string[0]]);
            sum.re += weight * p.re;
            sum.im += weight * p.im;
        }
        c.lambda[i] = sum;
    }
}
