/* Angles are linear functions of symbols: the weights, which all examples share, and the inputs of each example. */
#include "angles.h"
#include "pieces.h"

#include <string.h>

/* Inputs may be NULL where the angle has none. */
static double angle_of(const Plan *p, const Angle *angle, const double *weights, const double *inputs) {
    double sum = angle->constant;
    for (int i = 0; i < angle->count; i++) {
        int symbol = angle->slopes[2 * i];
        sum += p->constants[angle->slopes[2 * i + 1]] *
               (symbol < p->weights ? weights[symbol] : inputs[symbol - p->weights]);
    }
    return sum;
}

static void angles_of_example(Engine *e, Thread *t, long number) {
    (void)t;
    const Plan *p = &e->plan;
    for (int a = 0; a < p->example_angles; a++)
        e->example[number * p->example_angles + a] =
            angle_of(p, &p->angle[p->shared_angles + a], e->weights, e->inputs + number * p->inputs);
}

void find_angles(Engine *e) {
    const Plan *p = &e->plan;
    for (int a = 0; a < p->shared_angles; a++) e->shared[a] = angle_of(p, &p->angle[a], e->weights, NULL);
    if (p->example_angles) do_all(e, angles_of_example, e->batch, 256);
}

static void add_slopes(const Plan *p, const Angle *angle, double gradient, double *by_weights, double *by_inputs) {
    for (int i = 0; i < angle->count; i++) {
        int symbol = angle->slopes[2 * i];
        double *slope = symbol < p->weights ? by_weights + symbol : by_inputs + symbol - p->weights;
        *slope += p->constants[angle->slopes[2 * i + 1]] * gradient;
    }
}

void find_slopes(const Engine *e, double *by_inputs, double *by_weights) {
    const Plan *p = &e->plan;
    memset(by_weights, 0, DOUBLES(p->weights));
    memset(by_inputs, 0, DOUBLES(e->batch * p->inputs));
    for (int a = 0; a < p->shared_angles; a++)
        add_slopes(p, &p->angle[a], e->shared_gradient[a], by_weights, NULL);
    for (long b = 0; b < e->batch; b++)
        for (int a = 0; a < p->example_angles; a++)
            add_slopes(p, &p->angle[p->shared_angles + a], e->example_gradient[b * p->example_angles + a], by_weights,
                       by_inputs + b * p->inputs);
}
