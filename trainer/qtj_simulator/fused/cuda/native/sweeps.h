/* Passes over the states. A block of threads has a slice of the tiles of one example. It copies a tile into shared memory,
 * does all operations of the pass there, and writes it back: one read and one write of the state for any number of
 * gates. */

/* The bits of a number, put where the bits of a mask are. */
DEVICE size deposit(unsigned value, unsigned mask) {
    size out = 0;
    for (; mask && value; mask &= mask - 1, value >>= 1)
        if (value & 1) out |= mask & (~mask + 1);
    return out;
}

/* The four amplitudes of a group that an operation on two qubits mixes. */
typedef struct {
    unsigned at[4];
} Quad;

DEVICE unsigned without(unsigned number, int bit) {
    unsigned low = (1u << bit) - 1;
    return (number & ~low) << 1 | (number & low);
}

DEVICE Quad quad_of(unsigned group, const int *op) {
    int first = op[2], second = op[4], low = first < second ? first : second, high = first < second ? second : first;
    unsigned at = without(without(group, low), high);
    return Quad{{at, at | 1u << second, at | 1u << first, at | 1u << first | 1u << second}};
}

DEVICE void apply(const scalar *m, const Quad &q, amplitude *tile) {
    amplitude in[4];
    UNROLL
    for (int i = 0; i < 4; i++) in[i] = tile[q.at[i]];
    UNROLL
    for (int i = 0; i < 4; i++) {
        scalar re = 0, im = 0;
        UNROLL
        for (int k = 0; k < 4; k++) {
            re += m[4 * i + k] * in[k].re - m[16 + 4 * i + k] * in[k].im;
            im += m[4 * i + k] * in[k].im + m[16 + 4 * i + k] * in[k].re;
        }
        tile[q.at[i]] = amplitude{re, im};
    }
}

/* lambda += O psi */
DEVICE void observe(const scalar *m, const Quad &q, const amplitude *psi, amplitude *lambda) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        scalar re = 0, im = 0;
        UNROLL
        for (int k = 0; k < 4; k++) {
            amplitude p = psi[q.at[k]];
            re += m[4 * i + k] * p.re - m[16 + 4 * i + k] * p.im;
            im += m[4 * i + k] * p.im + m[16 + 4 * i + k] * p.re;
        }
        lambda[q.at[i]].re += re;
        lambda[q.at[i]].im += im;
    }
}

/* Adds rho_ab = psi_a conj(psi_b). */
DEVICE void add_density(const Quad &q, const amplitude *tile, scalar *sums) {
    amplitude p[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        p[i] = tile[q.at[i]];
        sums[i] += p[i].re * p[i].re + p[i].im * p[i].im;
    }
    UNROLL
    for (int x = 0; x < 6; x++) {
        amplitude a = p[above(x) / 4], b = p[above(x) % 4];
        sums[4 + x] += a.re * b.re + a.im * b.im;
        sums[10 + x] += a.im * b.re - a.re * b.im;
    }
}

/* Adds the anti-Hermitian part of M_ab = conj(lambda_a) psi_b. */
DEVICE void add_gradient(const Quad &q, const amplitude *psi, const amplitude *lambda, scalar *sums) {
    amplitude p[4], l[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        p[i] = psi[q.at[i]];
        l[i] = lambda[q.at[i]];
        sums[i] += l[i].re * p[i].im - l[i].im * p[i].re;
    }
    UNROLL
    for (int x = 0; x < 6; x++) {
        int a = above(x) / 4, b = above(x) % 4;
        sums[4 + x] += l[a].re * p[b].re + l[a].im * p[b].im - l[b].re * p[a].re - l[b].im * p[a].im;
        sums[10 + x] += l[a].re * p[b].im - l[a].im * p[b].re + l[b].re * p[a].im - l[b].im * p[a].re;
    }
}

DEVICE void load_unitary(const Call &c, const int *op, size example, bool back, scalar *m) {
    const int *block = c.program + c.blocks_at + 2 * op[1];
    const scalar *from = block[1] < 0 ? c.coefficients + 32 * block[0]
                                      : c.head_unitary + 32 * (example * (size)c.heads + (size)block[1]);
    UNROLL
    for (int i = 0; i < 16; i++) {
        int at = back ? 4 * (i % 4) + i / 4 : i;
        m[i] = from[at];
        m[16 + i] = back ? -from[16 + at] : from[16 + at];
    }
}

/* ---- the shared memory of a block of threads: tiles, then what threads have summed up ---- */

enum { PARTS = 8 };

DEVICE amplitude *tile_of(const Call &c, int number) { return (amplitude *)shared_memory + ((size)number << c.tile_bits); }

/* [16][PARTS], behind so many tiles */
DEVICE double *parts_behind(const Call &c, int tiles) { return (double *)tile_of(c, tiles); }

/* [16][threads] */
DEVICE scalar *scratch_behind(const Call &c, int tiles) { return (scalar *)(parts_behind(c, tiles) + 16 * PARTS); }

DEVICE void keep(const scalar *sums, unsigned t, scalar *scratch) {
    UNROLL
    for (int i = 0; i < 16; i++) scratch[(unsigned)i * blockDim.x + t] = sums[i];
}

/* Adds the sums of all threads, always in the same order, to those of the slice. */
DEVICE void add_sums(const scalar *scratch, double *parts, double *to) {
    FOR_EACH_THREAD(t)
    for (unsigned w = t; w < 16 * PARTS; w += blockDim.x) {
        double sum = 0;
        for (unsigned i = w % PARTS; i < blockDim.x; i += PARTS) sum += (double)scratch[w / PARTS * blockDim.x + i];
        parts[w] = sum;
    }
    FOR_EACH_THREAD(t)
    for (unsigned i = t; i < 16; i += blockDim.x) {
        double sum = 0;
        for (int part = 0; part < PARTS; part++) sum += parts[i * PARTS + part];
        to[i] += sum;
    }
}

/* ---- forward ---- */

DEVICE void apply_block(const Call &c, const int *op, size example) {
    unsigned groups = 1u << (c.tile_bits - 2);
    FOR_EACH_THREAD(t) {
        scalar m[32];
        load_unitary(c, op, example, false, m);
        for (unsigned g = t; g < groups; g += blockDim.x) apply(m, quad_of(g, op), tile_of(c, 0));
    }
}

DEVICE void measure_pair(const Call &c, const int *op, size example) {
    unsigned groups = 1u << (c.tile_bits - 2);
    FOR_EACH_THREAD(t) {
        scalar sums[16] = {0};
        for (unsigned g = t; g < groups; g += blockDim.x) add_density(quad_of(g, op), tile_of(c, 0), sums);
        keep(sums, t, scratch_behind(c, 1));
    }
    add_sums(scratch_behind(c, 1), parts_behind(c, 1), sums_of(c, example, blockIdx.y) + pair_column(c, op[1]));
}

/* Where a tile of this pass begins in the state. */
DEVICE size tile_start(const Call &c, unsigned number) {
    unsigned mask = (unsigned)c.program[c.pass_at + 1], all = ~0u >> (32 - c.qubits);
    return deposit(number, all & ~mask);
}

DEVICE void load(const Call &c, const amplitude *from, amplitude *tile) {
    FOR_EACH_THREAD(t)
    for (unsigned k = t; k < 1u << c.tile_bits; k += blockDim.x) tile[k] = from[c.inside[k]];
}

DEVICE void store(const Call &c, const amplitude *tile, amplitude *to) {
    FOR_EACH_THREAD(t)
    for (unsigned k = t; k < 1u << c.tile_bits; k += blockDim.x) to[c.inside[k]] = tile[k];
}

KERNEL(forward) {
    const int *pass = c.program + c.pass_at;
    size example = blockIdx.x;
    for (unsigned number = blockIdx.y; number < 1u << (c.qubits - c.tile_bits); number += gridDim.y) {
        size start = tile_start(c, number);
        load(c, c.source + example * c.source_stride + start, tile_of(c, 0));
        for (int i = 0; i < pass[0]; i++) {
            const int *op = pass + 2 + OP_INTS * i;
            if (op[0] == APPLY) apply_block(c, op, example);
            else measure_pair(c, op, example);
        }
        store(c, tile_of(c, 0), c.psi + (example << c.qubits) + start);
    }
}

/* ---- back ---- */

DEVICE void unapply_block(const Call &c, const int *op, size example) {
    const int *block = c.program + c.blocks_at + 2 * op[1];
    unsigned groups = 1u << (c.tile_bits - 2);
    amplitude *psi = tile_of(c, 0), *lambda = tile_of(c, 1);
    FOR_EACH_THREAD(t) {
        scalar m[32], sums[16] = {0};
        load_unitary(c, op, example, true, m);
        for (unsigned g = t; g < groups; g += blockDim.x) {
            Quad q = quad_of(g, op);
            if (!(op[6] & NO_GRADIENT)) add_gradient(q, psi, lambda, sums);
            if (op[6] & NO_UNAPPLY) continue;
            apply(m, q, psi);
            apply(m, q, lambda);
        }
        keep(sums, t, scratch_behind(c, 2));
    }
    if (op[6] & NO_GRADIENT) return;
    int column = block[1] < 0 ? kind_column(c, block[0]) : 16 * block[1];
    add_sums(scratch_behind(c, 2), parts_behind(c, 2), sums_of(c, example, blockIdx.y) + column);
}

DEVICE void observe_pair(const Call &c, const int *op, size example) {
    unsigned groups = 1u << (c.tile_bits - 2);
    FOR_EACH_THREAD(t) {
        const scalar *m = c.observable + 32 * (example * (size)c.pairs + (size)op[1]);
        for (unsigned g = t; g < groups; g += blockDim.x) observe(m, quad_of(g, op), tile_of(c, 0), tile_of(c, 1));
    }
}

KERNEL(backward) {
    const int *pass = c.program + c.pass_at;
    size example = blockIdx.x;
    for (unsigned number = blockIdx.y; number < 1u << (c.qubits - c.tile_bits); number += gridDim.y) {
        size start = (example << c.qubits) + tile_start(c, number);
        load(c, c.psi + start, tile_of(c, 0));
        load(c, c.lambda + start, tile_of(c, 1));
        for (int i = pass[0] - 1; i >= 0; i--) {
            const int *op = pass + 2 + OP_INTS * i;
            if (op[0] == APPLY) unapply_block(c, op, example);
            else observe_pair(c, op, example);
        }
        store(c, tile_of(c, 0), c.psi + start);
        store(c, tile_of(c, 1), c.lambda + start);
    }
}
