/* One program, ready to run; and which instruction set is taken. */
#ifndef QTJ_ENGINE_H
#define QTJ_ENGINE_H

#include "file.h"
#include "work.h"

const Variant *find_variant(const char *name);
int default_threads(void);
int process_threads(void); /* those of circuits and trajectories that ask for 0 */
/* The state after the constant beginning is not made yet. */
const char *make_engine(const File *file, const Program *program, const Variant *variant, int threads, Engine **out);
const char *engine_values(Engine *e, long batch, const double *inputs, const double *weights, double *values);
const char *engine_states(Engine *e, long batch, const double *inputs, const double *weights, double *states);
const char *engine_gradients(Engine *e, long batch, const double *inputs, const double *weights,
                             const double *upstream, double *by_inputs, double *by_weights);

#endif
