/* What all engines may keep for gradients, and whether a call fits into what is free. */
#ifndef QTJ_ROOM_H
#define QTJ_ROOM_H

#include "work.h"

/* Lets an engine keep the states of a batch, or as many as there is room for now. */
void lend(Engine *e, long batch);

/* Whether so many bytes more are free; between pool_enter and pool_leave. The system lends memory that it does not have,
 * and ends a process that then uses it. Few bytes are not asked for: to look at what is free takes up to 0.2 ms. */
int has_room(size_t bytes);

/* A sentence for a call that has no room: what needs so many bytes, and what would fit. It is the caller's thread's. */
const char *refusal(const char *what, size_t bytes, const char *remedy);

/* Values alone need one state of a unit for each worker, and gradients one more. */
typedef enum { FOR_VALUES, FOR_GRADIENTS } Purpose;

/* NULL, or a sentence with what is needed, what is free and what would fit. */
const char *take_room(Engine *e, long batch, Purpose purpose);
const char *take_room_for_gradients(Engine *e); /* of the batch whose values are known */

#endif
