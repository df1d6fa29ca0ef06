/* Threads that outlive a call: starting one costs more than a small batch takes. One pool serves the whole process, one
 * call at a time. A job has as many indices as threads were asked for; what no thread could be started for, the caller
 * does itself, so that results depend on the number of indices alone. */
#include "engine.h"

#include <pthread.h>
#include <stdatomic.h>

/* How often a thread looks for work, or for the end of it, before it sleeps: some 50 us, about what waking up costs. The
 * next job of a small batch comes sooner. */
enum { LOOKS = 2000 };

static pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, end = PTHREAD_COND_INITIALIZER;
static int workers, job_count;
static atomic_int pending;
static atomic_ulong job_number;
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
        int count = job_count;
        pthread_mutex_unlock(&lock);
        if (index >= count) continue;
        job(of, index, count);
        pthread_mutex_lock(&lock);
        if (--pending == 0) pthread_cond_signal(&end);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* A forked child has none of its parent's threads. */
static void forget(void) {
    workers = pending = 0;
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

static int call_helpers(int wanted, int threads, Job *job, void *argument) {
    pthread_mutex_lock(&lock);
    grow(wanted);
    int helpers = wanted < workers ? wanted : workers;
    current_job = job;
    current_argument = argument;
    job_count = threads;
    pending = helpers;
    job_number++;
    pthread_cond_broadcast(&begin);
    pthread_mutex_unlock(&lock);
    return helpers;
}

void pool_run(int threads, Job *job, void *argument) {
    int helpers = threads > 1 ? call_helpers(threads - 1, threads, job, argument) : 0;
    job(argument, 0, threads);
    for (int index = helpers + 1; index < threads; index++) job(argument, index, threads);
    if (!helpers) return;
    for (int looks = 0; looks < LOOKS && atomic_load(&pending); looks++) pause_briefly();
    pthread_mutex_lock(&lock);
    while (pending) pthread_cond_wait(&end, &lock);
    pthread_mutex_unlock(&lock);
}
