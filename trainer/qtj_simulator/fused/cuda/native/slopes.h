/* From the sums of sweeps to readouts and to the derivatives by angles. */

/* Adds the sums of all slices of an example, into the first. */
KERNEL(fold) {
    size columns = (size)(c.fold_to - c.fold_from);
    FOR_EACH_INDEX(i, (size)c.examples * columns) {
        double *to = sums_of(c, i / columns, 0) + c.fold_from + i % columns;
        for (int slice = 1; slice < c.slices; slice++) *to += to[(size)slice * (size)c.width];
    }
}

KERNEL(readouts) {
    FOR_EACH_INDEX(i, (size)c.examples * c.readouts) {
        int readout = (int)(i % (size)c.readouts);
        const double *sums = sums_of(c, i / (size)c.readouts, 0);
        double value = c.constants[c.offsets_at + readout];
        for (int k = 0; k < c.terms; k++) {
            const int *term = c.program + c.terms_at + TERM_INTS * k;
            if (term[1] == readout) value += expectation(c.pulled + 32 * k, sums + pair_column(c, term[0]));
        }
        for (int k = 0; k < c.strings; k++)
            if (string_of(c, k)[0] == readout) value += c.constants[string_of(c, k)[6]] * sums[string_column(c, k)];
        c.values[i] = value;
    }
}

/* What one example adds to the total of a kind, or of a term. A change of a head's tail changes all examples, so what
 * heads sum up counts for their kind too. */
DEVICE double part_of_total(const Call &c, int row, int i, size example) {
    const double *sums = sums_of(c, example, 0);
    if (row >= c.kinds) {
        const int *term = c.program + c.terms_at + TERM_INTS * (row - c.kinds);
        return c.upstream[example * (size)c.readouts + (size)term[1]] * sums[pair_column(c, term[0]) + i];
    }
    double sum = sums[kind_column(c, row) + i];
    for (int h = 0; h < c.heads; h++)
        if (head_of(c, h)[0] == row) sum += sums[16 * h + i];
    return sum;
}

/* Adds up all examples. A block of threads has a kind or a term: 16 sums, and 1/16 of the threads for each. */
KERNEL(add_examples) {
    double *scratch = (double *)shared_memory;
    FOR_EACH_THREAD(t) {
        double sum = 0;
        for (size example = t / 16; example < (size)c.examples; example += blockDim.x / 16)
            sum += part_of_total(c, (int)blockIdx.x, (int)(t % 16), example);
        scratch[t] = sum;
    }
    FOR_EACH_THREAD(t)
    if (t < 16)
        for (unsigned i = t; i < blockDim.x; i += 16) c.totals[16 * blockIdx.x + t] += scratch[i];
}

/* Adds what an observable that is looked at through a block makes of it: M_ab = (sigma O)_ba, sigma = U rho U^dag. */
DEVICE void add_term(const Call &c, int number, const Matrix &back, double *sums) {
    Matrix sigma, o, product;
    density_matrix(c.totals + 16 * (c.kinds + number), sigma);
    conjugate(back, sigma);
    read_matrix(c.constants + (c.program + c.terms_at + TERM_INTS * number)[2], o);
    multiply(sigma, o, product);
    for (int a = 0; a < 4; a++) sums[a] += product.im[5 * a];
    for (int x = 0; x < 6; x++) {
        sums[4 + x] += product.re[below(x)] - product.re[above(x)];
        sums[10 + x] += product.im[below(x)] + product.im[above(x)];
    }
}

KERNEL(find_kind_slopes) {
    FOR_EACH_INDEX(k, c.kinds) {
        double sums[16];
        Matrix u, back, n;
        for (int i = 0; i < 16; i++) sums[i] = c.totals[16 * k + i];
        read_matrix(c.unitary + 32 * k, u);
        adjoint(u, back);
        for (int number = 0; number < c.terms; number++)
            if (c.program[c.pairs_at + c.program[c.terms_at + TERM_INTS * number]] == (int)k)
                add_term(c, number, back, sums);
        anti_hermitian(sums, n);
        const int *kind = kind_of(c, (int)k);
        slopes_of(c, kind + 1, kind[0], c.shared, n, c.kind_slopes + c.kind_slot[k]);
    }
}

KERNEL(find_head_slopes) {
    FOR_EACH_INDEX(i, (size)c.examples * c.heads) {
        size example = i / (size)c.heads;
        int number = (int)(i % (size)c.heads);
        const int *head = head_of(c, number);
        Matrix n, tail;
        anti_hermitian(sums_of(c, example, 0) + 16 * number, n);
        read_matrix(c.unitary + 32 * head[0], tail);
        conjugate(tail, n);
        slopes_of(c, head + 2, head[1], c.example + example * (size)c.example_angles, n,
                  c.head_slopes + example * (size)c.head_slots + c.head_slot[number]);
    }
}

/* An angle is that of several gates. */
DEVICE double slopes_with(const Call &c, int angle, const int *gates, int count, const double *slopes) {
    double sum = 0;
    for (int g = 0; g < count; g++)
        if (gate_of(c, gates[g])[1] == angle) sum += slopes[g];
    return sum;
}

KERNEL(add_kind_slopes) {
    FOR_EACH_INDEX(angle, c.shared_angles) {
        double sum = 0;
        for (int k = 0; k < c.kinds; k++)
            sum += slopes_with(c, (int)angle, kind_of(c, k) + 1, kind_of(c, k)[0], c.kind_slopes + c.kind_slot[k]);
        c.shared_gradient[angle] = sum;
    }
}

KERNEL(add_head_slopes) {
    FOR_EACH_INDEX(i, (size)c.examples * c.example_angles) {
        size example = i / (size)c.example_angles;
        const double *slopes = c.head_slopes + example * (size)c.head_slots;
        double sum = 0;
        for (int h = 0; h < c.heads; h++)
            sum += slopes_with(c, (int)(i % (size)c.example_angles), head_of(c, h) + 2, head_of(c, h)[1],
                               slopes + c.head_slot[h]);
        c.example_gradient[i] = sum;
    }
}
