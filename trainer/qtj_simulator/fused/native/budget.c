/* The memory that all engines of a process may take for states that wait for their gradient. The first engine that
 * asks gets what is left, and what does not fit is computed again. An engine returns its memory when it is released. */
#include "budget.h"
#include "memory.h"
#include "pool.h"
#include "qtj.h"

#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

/* One part in so many of the free memory. The rest is for what else a program takes, and it takes that later. */
enum { SHARE = 4 };

static int64_t assumed_free = -1;

EXPORT void qtj_assume_free(int64_t bytes) { assumed_free = bytes; }

static size_t lent(void) {
    size_t sum = 0;
    for (const Engine *e = workspace.engines; e; e = e->next) sum += e->borrows ? e->keep_bytes : 0;
    return sum;
}

EXPORT size_t qtj_lent(void) {
    pool_enter();
    size_t sum = lent();
    pool_leave();
    return sum;
}

static size_t free_bytes(size_t lent_bytes) {
    if (assumed_free < 0) return qtj_free_memory("/sys/fs/cgroup", "/proc/self/cgroup", "/proc/meminfo");
    return (size_t)assumed_free > lent_bytes ? (size_t)assumed_free - lent_bytes : 0;
}

/* One part in so many is left to the rest of the program, and to the tables of pages. */
enum { LEFT = 64, WORTH_A_LOOK = 1 << 25 };

static size_t free_now(void) {
    size_t all = free_bytes(lent());
    return all - all / LEFT;
}

int has_room(size_t bytes) { return bytes < WORTH_A_LOOK || bytes <= free_now(); }

enum { LONGEST = 224, LONGEST_SIZE = 16 };

static const char *in_words(size_t bytes, char *words) {
    int is_large = bytes >> 30 > 0;
    snprintf(words, LONGEST_SIZE, "%.3g %s", (double)bytes / (is_large ? 1 << 30 : 1 << 20), is_large ? "GiB" : "MiB");
    return words;
}

const char *refusal(const char *what, size_t bytes, const char *remedy) {
    static _Thread_local char sentence[LONGEST];
    char needed[LONGEST_SIZE], there[LONGEST_SIZE];
    snprintf(sentence, sizeof sentence, "%s: %s needs %s more, and %s are free: %s", QTJ_NO_MEMORY, what,
             in_words(bytes, needed), in_words(free_now(), there), remedy);
    return sentence;
}

/* What is free is looked at only when an engine asks for more than before. */
void lend(Engine *e, long batch) {
    size_t asked = (size_t)units_of(e, batch) * unit_bytes(e);
    if (!e->borrows || asked <= e->asked) return;
    size_t before = lent(), all = (free_bytes(before) + before) / SHARE;
    size_t most = e->keep_bytes + (all > before ? all - before : 0);
    e->asked = asked;
    e->keep_bytes = asked < most ? asked : most;
}
