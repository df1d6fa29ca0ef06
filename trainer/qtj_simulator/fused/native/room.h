/* What a call needs is compared with what is free before anything is written. */
#ifndef QTJ_ROOM_H
#define QTJ_ROOM_H

#include "work.h"

/* Values alone need one state of a unit for each worker, and gradients one more. */
typedef enum { FOR_VALUES, FOR_GRADIENTS } Purpose;

/* NULL, or a sentence with what is needed, what is free and what would fit. */
const char *take_room(Engine *e, long batch, Purpose purpose);
const char *take_room_for_gradients(Engine *e); /* of the batch whose values are known */

#endif
