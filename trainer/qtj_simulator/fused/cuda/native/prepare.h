/* From angles to matrices: once for a call, and once for each example. */

/* The unitary of each kind of block. */
KERNEL(prepare_kinds) {
    FOR_EACH_INDEX(k, c.kinds) {
        const int *kind = kind_of(c, (int)k);
        Matrix u;
        product_of(c, kind + 1, kind[0], c.shared, u);
        write_matrix(u, c.unitary + 32 * k);
        write_matrix(u, c.coefficients + 32 * k);
    }
}

/* The observable of each term, before the block that it is looked at through. */
KERNEL(pull_terms) {
    FOR_EACH_INDEX(number, c.terms) {
        const int *term = c.program + c.terms_at + TERM_INTS * number;
        int kind = c.program[c.pairs_at + term[0]];
        Matrix o, u;
        read_matrix(c.constants + term[2], o);
        if (kind >= 0) {
            read_matrix(c.unitary + 32 * kind, u);
            conjugate(u, o);
        }
        write_matrix(o, c.pulled + 32 * number);
    }
}

/* The unitaries of blocks with heads, for each example. */
KERNEL(prepare_heads) {
    FOR_EACH_INDEX(i, (size)c.examples * c.heads) {
        size example = i / (size)c.heads;
        const int *head = head_of(c, (int)(i % (size)c.heads));
        Matrix h, tail, u;
        product_of(c, head + 2, head[1], c.example + example * (size)c.example_angles, h);
        read_matrix(c.unitary + 32 * head[0], tail);
        multiply(tail, h, u);
        write_matrix(u, c.head_unitary + 32 * i);
    }
}

/* The observable whose expectation value the loss sees, for each example and pair. */
KERNEL(weigh_observables) {
    FOR_EACH_INDEX(i, (size)c.examples * c.pairs) {
        const double *upstream = c.upstream + i / (size)c.pairs * (size)c.readouts;
        for (int j = 0; j < 32; j++) {
            double sum = 0;
            for (int k = 0; k < c.terms; k++) {
                const int *term = c.program + c.terms_at + TERM_INTS * k;
                if (term[0] == (int)(i % (size)c.pairs)) sum += upstream[term[1]] * c.pulled[32 * k + j];
            }
            c.observable[32 * i + j] = (scalar)sum;
        }
    }
}
