/* Threads that outlive a call: starting one costs more than a small batch takes. One pool serves the whole process, one
 * call at a time. A job has as many indices as threads were asked for; what no thread could be started for, the caller
 * does itself, so that results depend on the number of indices alone. */
#include "engine.h"

#include <pthread.h>

static pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, end = PTHREAD_COND_INITIALIZER;
static int workers, pending, job_count;
static unsigned long turn;
static Job *current_job;
static void *current_argument;

static void *work(void *argument) {
    int index = (int)(intptr_t)argument;
    unsigned long seen = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (turn == seen) pthread_cond_wait(&begin, &lock);
        seen = turn;
        if (index >= job_count) continue;
        Job *job = current_job;
        void *of = current_argument;
        int count = job_count;
        pthread_mutex_unlock(&lock);
        job(of, index, count);
        pthread_mutex_lock(&lock);
        if (--pending == 0) pthread_cond_signal(&end);
    }
    return NULL;
}

/* A forked child has none of its parent's threads. */
static void forget(void) {
    workers = pending = 0;
    turn = 0;
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
    turn++;
    pthread_cond_broadcast(&begin);
    pthread_mutex_unlock(&lock);
    return helpers;
}

void pool_run(int threads, Job *job, void *argument) {
    int helpers = threads > 1 ? call_helpers(threads - 1, threads, job, argument) : 0;
    job(argument, 0, threads);
    for (int index = helpers + 1; index < threads; index++) job(argument, index, threads);
    if (!helpers) return;
    pthread_mutex_lock(&lock);
    while (pending) pthread_cond_wait(&end, &lock);
    pthread_mutex_unlock(&lock);
}
