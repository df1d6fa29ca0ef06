/* Threads that outlive a call. */
#ifndef QTJ_POOL_H
#define QTJ_POOL_H

enum { MAX_THREADS = 256 };

typedef void Job(void *argument, int index, int count);
void pool_run(int threads, Job *job, void *argument);
void pool_enter(void);
void pool_leave(void);

#endif
