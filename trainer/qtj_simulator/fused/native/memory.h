/* What engines own, and what they share. */
#ifndef QTJ_MEMORY_H
#define QTJ_MEMORY_H

#include "work.h"

extern Workspace workspace; /* between pool_enter and pool_leave */

/* Aligned, and NULL if there is no memory. States are not cleared. */
void *allocate(Engine *e, size_t count, size_t size);
void *allocate_states(Engine *e, size_t count);
size_t unit_bytes(const Engine *e);               /* all states of a unit */
const char *reserve_plan(Engine *e);              /* what the plan needs, once */
const char *reserve_batch(Engine *e, long batch); /* what the values of a batch need; it only ever grows */
const char *reserve_lambda(const Engine *e);      /* what its gradient needs besides */
/* Bytes that they would take now. */
size_t missing_batch(Engine *e, long batch);
size_t missing_lambda(const Engine *e);
size_t missing_gradient(Engine *e, long batch); /* both */
void enlist(Engine *e);
void *known_base(const Engine *e); /* that of an engine with the same program; or NULL */
void release(Engine *e);            /* enlisted or not */

#endif
