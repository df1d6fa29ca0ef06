/* What all engines may keep for gradients. */
#ifndef QTJ_BUDGET_H
#define QTJ_BUDGET_H

#include "work.h"

/* Lets an engine keep the states of a batch, or as many as there is room for now. */
void lend(Engine *e, long batch);

/* What no engine has taken yet; between pool_enter and pool_leave. */
size_t free_now(void);

#endif
