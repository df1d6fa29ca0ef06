/* Threads that outlive a call: starting one costs more than a small batch takes. One pool serves the whole process, one
 * call at a time. A job has as many indices as threads were asked for. Each has its thread; but those whose thread has not
 * woken up when the caller is done with its own, or could not be started, the caller does itself, so that a second thread
 * never costs much. Results depend on the number of indices alone.
 *
 * Written here because OpenMP waits at the end of a region for every thread, also for one that has not woken up, and
 * needs a runtime library on the machine. */
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* How often a thread looks for work, or for the end of it, before it sleeps: some 50 us, about what waking up costs. The
 * next job of a small batch comes sooner. */
enum { LOOKS = 2000 };

static pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, end = PTHREAD_COND_INITIALIZER;
static int workers, job_count;
static atomic_int pending;
static atomic_ulong job_number;
static char claimed[MAX_THREADS]; /* of each index of the current job */
static Job *current_job;
static void *current_argument;

/* Lets a hyper-thread beside this one work. */
static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* With the lock: takes an index of the current job, unless it is taken. */
static int claim(int index) {
    int mine = index < job_count && !claimed[index];
    if (mine) claimed[index] = 1;
    return mine;
}

static void *work(void *argument) {
    int index = (int)(intptr_t)argument;
    unsigned long seen = 0;
    for (;;) {
        for (int looks = 0; looks < LOOKS && atomic_load(&job_number) == seen; looks++) pause_briefly();
        pthread_mutex_lock(&lock);
        while (job_number == seen) pthread_cond_wait(&begin, &lock);
        seen = job_number;
        Job *job = current_job;
        void *of = current_argument;
        int count = job_count, mine = claim(index);
        pthread_mutex_unlock(&lock);
        if (!mine) continue;
        job(of, index, count);
        pthread_mutex_lock(&lock);
        if (--pending == 0) pthread_cond_signal(&end);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* A forked child has none of its parent's threads. */
static void forget(void) {
    workers = 0;
    pending = 0;
    job_number = 0;
    pthread_mutex_init(&entrance, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&begin, NULL);
    pthread_cond_init(&end, NULL);
}

static void grow(int wanted) {
    while (workers < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)(intptr_t)(workers + 1))) return;
        pthread_detach(thread);
        workers++;
    }
}

void pool_enter(void) {
    static int registered;
    pthread_mutex_lock(&entrance);
    if (!registered) registered = !pthread_atfork(NULL, NULL, forget);
}

void pool_leave(void) { pthread_mutex_unlock(&entrance); }

static void call_helpers(int threads, Job *job, void *argument) {
    pthread_mutex_lock(&lock);
    grow(threads - 1);
    current_job = job;
    current_argument = argument;
    job_count = threads;
    memset(claimed, 0, (size_t)threads);
    pending = threads - 1;
    job_number++;
    pthread_cond_broadcast(&begin);
    pthread_mutex_unlock(&lock);
}

static int left_for_caller(int index) {
    pthread_mutex_lock(&lock);
    int mine = claim(index);
    pending -= mine;
    pthread_mutex_unlock(&lock);
    return mine;
}

void pool_run(int threads, Job *job, void *argument) {
    if (threads > 1) call_helpers(threads, job, argument);
    job(argument, 0, threads);
    for (int index = 1; index < threads; index++)
        if (left_for_caller(index)) job(argument, index, threads);
    if (threads == 1) return;
    for (int looks = 0; looks < LOOKS && atomic_load(&pending); looks++) pause_briefly();
    pthread_mutex_lock(&lock);
    while (pending) pthread_cond_wait(&end, &lock);
    pthread_mutex_unlock(&lock);
}
