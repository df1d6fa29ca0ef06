/* The pages that large states lie in. */
#ifndef QTJ_PAGES_H
#define QTJ_PAGES_H

enum { HUGE_PAGE = 1 << 21 };

double processor_seconds(void); /* of this thread */

#endif
