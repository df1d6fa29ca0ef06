/* What is done once per call: unitaries of blocks from their angles, and gradients of angles from the sums of a sweep.
 *
 * With psi after a block and lambda = dL/dpsi* there, let M_ab = sum conj(lambda_a) psi_b over all other qubits. A gate
 * G(t) = exp(i pi t H) inside the block U = S G ... changes the loss by
 *
 *     dL/dt = 2 Re(i pi sum_ab (S H S^dag)_ab M_ab) = -2 pi Im tr(S H S^dag N),   N = (M^T - conj(M)) / 2,
 *
 * and only the anti-Hermitian N matters, because S H S^dag is Hermitian: 16 real sums for any number of angles (sums.h).
 *
 * Adjoint differentiation: Jones and Gacon, arXiv:2009.02823. There each angle takes a sweep of its own; taking one 4x4
 * matrix for all angles of a block is what makes this engine fast.
 */
#include "algebra.h"
#include "sums.h"

#include <math.h>
#include <string.h>

/* Gates on one qubit leave most of a matrix 0, so what is 0 in `a` is left out. */
static void multiply(const Matrix *restrict a, const Matrix *restrict b, Matrix *restrict out) {
    for (int i = 0; i < 4; i++) {
        double re[4] = {0}, im[4] = {0};
        for (int k = 0; k < 4; k++) {
            double ar = a->re[4 * i + k], ai = a->im[4 * i + k];
            if (ar == 0 && ai == 0) continue;
            for (int j = 0; j < 4; j++) {
                re[j] += ar * b->re[4 * k + j] - ai * b->im[4 * k + j];
                im[j] += ar * b->im[4 * k + j] + ai * b->re[4 * k + j];
            }
        }
        memcpy(out->re + 4 * i, re, sizeof re);
        memcpy(out->im + 4 * i, im, sizeof im);
    }
}

static void adjoint(const Matrix *restrict a, Matrix *restrict out) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            out->re[4 * i + j] = a->re[4 * j + i];
            out->im[4 * i + j] = -a->im[4 * j + i];
        }
}

/* b becomes a^dag b a = (a^dag (a^dag b)^dag)^dag. */
static void conjugate(const Matrix *a, Matrix *b) {
    Matrix left, product, turned;
    adjoint(a, &left);
    multiply(&left, b, &product);
    adjoint(&product, &turned);
    multiply(&left, &turned, &product);
    adjoint(&product, b);
}

static void read_matrix(const double *from, Matrix *to) {
    memcpy(to->re, from, sizeof to->re);
    memcpy(to->im, from + 16, sizeof to->im);
}

/* The matrix of a gate that all examples share. */
void prepare_gate(Engine *e, Thread *t, long number) {
    const Gate *gate = &e->plan.gate[number];
    if (!gate->shared) return;
    double angle = gate->angle < 0 ? 0 : e->shared[gate->angle];
    Matrix *out = &e->gate_matrix[number];
    memset(out, 0, sizeof *out);
    for (int k = 0; k < gate->components; k++) {
        const double *c = gate->constants + 33 * k;
        double re = cos(PI * c[0] * angle), im = sin(PI * c[0] * angle);
        for (int i = 0; i < 16; i++) {
            out->re[i] += re * c[1 + i] - im * c[17 + i];
            out->im[i] += re * c[17 + i] + im * c[1 + i];
        }
    }
}

/* The unitary of a kind, once its gates have their matrices. */
void prepare_kind(Engine *e, Thread *t, long kind) {
    const Product *product = &e->plan.kind[kind];
    Matrix u = {{0}, {0}}, next;
    for (int i = 0; i < 4; i++) u.re[5 * i] = 1;
    for (int g = 0; g < product->count; g++) {
        multiply(&e->gate_matrix[product->gates[g]], &u, &next);
        u = next;
    }
    e->unitary[kind] = u;
    e->variant->store_unitary(e, t, kind);
}

/* A term's observable, pulled back through the block it is looked at through. */
void pull_term(Engine *e, Thread *t, long term) {
    int kind = e->plan.pair[e->plan.term[term].pair].kind;
    read_matrix(e->plan.term[term].matrix, &e->pulled[term]);
    if (kind >= 0) conjugate(&e->unitary[kind], &e->pulled[term]);
}

static void anti_hermitian(const double *sums, Matrix *n) {
    memset(n, 0, sizeof *n);
    for (int a = 0; a < 4; a++) n->im[5 * a] = sums[a];
    for (int x = 0; x < 6; x++) {
        n->re[LOW[x]] = sums[4 + x] / 2;
        n->re[HIGH[x]] = -sums[4 + x] / 2;
        n->im[LOW[x]] = n->im[HIGH[x]] = sums[10 + x] / 2;
    }
}

/* -2 pi Im tr(H n) with H = sum_k lambda_k P_k */
static double slope(const Gate *gate, const Matrix *n) {
    double sum = 0;
    for (int k = 0; k < gate->components; k++) {
        const double *c = gate->constants + 33 * k;
        double trace = 0;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                trace += c[1 + 4 * i + j] * n->im[4 * j + i] + c[17 + 4 * i + j] * n->re[4 * j + i];
        sum += c[0] * trace;
    }
    return -2 * PI * sum;
}

/* The gradients of a kind's angles, from the sums of all threads. */
void kind_gradient(Engine *e, Thread *t, long kind) {
    const Product *product = &e->plan.kind[kind];
    int lanes = e->variant->lanes;
    double sums[16] = {0};
    for (int thread = 0; thread < e->threads; thread++)
        for (int i = 0; i < 16 * lanes; i++) sums[i / lanes] += e->thread[thread].kinds[kind * 16 * lanes + i];
    Matrix n;
    anti_hermitian(sums, &n);
    for (int g = product->count - 1; g >= 0; g--) {
        const Gate *gate = &e->plan.gate[product->gates[g]];
        if (gate->angle >= 0) t->angles[gate->angle] += slope(gate, &n);
        if (g) conjugate(&e->gate_matrix[product->gates[g]], &n);
    }
}

static void density_matrix(const double *sums, Matrix *rho) {
    memset(rho, 0, sizeof *rho);
    for (int a = 0; a < 4; a++) rho->re[5 * a] = sums[a];
    for (int x = 0; x < 6; x++) {
        rho->re[HIGH[x]] = rho->re[LOW[x]] = sums[4 + x];
        rho->im[HIGH[x]] = sums[10 + x];
        rho->im[LOW[x]] = -sums[10 + x];
    }
}

/* The density matrix that one example, in its lane of a group, left for a pair. */
static const double *density_of(const Engine *e, long example, int pair) {
    int lanes = e->variant->lanes;
    return e->densities + ((example / lanes) * e->plan.pairs + pair) * 16 * lanes + example % lanes;
}

/* Adds what a pulled-back observable makes of its own block: M_ab = (sigma O)_ba with sigma = U rho U^dag. */
void term_sums(Engine *e, Thread *t, long number) {
    const Term *term = &e->plan.term[number];
    int kind = e->plan.pair[term->pair].kind, lanes = e->variant->lanes;
    if (kind < 0) return;
    double weighted[16] = {0};
    for (long b = 0; b < e->batch; b++) {
        double weight = e->upstream[b * e->plan.readouts + term->readout];
        const double *rho = density_of(e, b, term->pair);
        for (int i = 0; i < 16; i++) weighted[i] += weight * rho[i * lanes];
    }
    Matrix sigma, o, product, back;
    density_matrix(weighted, &sigma);
    adjoint(&e->unitary[kind], &back);
    conjugate(&back, &sigma);
    read_matrix(term->matrix, &o);
    multiply(&sigma, &o, &product);
    double *to = t->kinds + 16 * kind * lanes;
    for (int a = 0; a < 4; a++) to[a * lanes] += product.im[5 * a];
    for (int x = 0; x < 6; x++) {
        to[(4 + x) * lanes] += product.re[LOW[x]] - product.re[HIGH[x]];
        to[(10 + x) * lanes] += product.im[LOW[x]] + product.im[HIGH[x]];
    }
}

/* tr(O rho), O Hermitian */
static double expectation(const Matrix *o, const double *rho, int lanes) {
    double diagonal = 0, rest = 0;
    for (int a = 0; a < 4; a++) diagonal += o->re[5 * a] * rho[a * lanes];
    for (int x = 0; x < 6; x++)
        rest += o->re[HIGH[x]] * rho[(4 + x) * lanes] + o->im[HIGH[x]] * rho[(10 + x) * lanes];
    return diagonal + 2 * rest;
}

/* The readouts of one example. */
void example_values(Engine *e, Thread *t, long example) {
    const Plan *plan = &e->plan;
    int lanes = e->variant->lanes;
    double *row = e->values + example * plan->readouts;
    const double *strings = e->string_sums + example / lanes * plan->strings * lanes + example % lanes;
    memcpy(row, plan->offset, sizeof(double) * (size_t)plan->readouts);
    for (int i = 0; i < plan->terms; i++)
        row[plan->term[i].readout] += expectation(&e->pulled[i], density_of(e, example, plan->term[i].pair), lanes);
    for (int s = 0; s < plan->strings; s++)
        row[plan->string[s].readout] += plan->string[s].factor * strings[s * lanes];
}
