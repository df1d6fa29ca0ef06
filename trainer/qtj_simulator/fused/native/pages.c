/* The pages that large states lie in. One fault takes 512 small pages or one huge page. Where the machine is there for
 * nobody else, huge ones are faster to get. On a virtual machine they took four times as long as small pages, perhaps
 * because it hands free huge pages back to its host. Which of both it is, only a look at the clock tells. */
#define _GNU_SOURCE
#include "pages.h"
#include "qtj.h"

#include <time.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define EXPORT __attribute__((visibility("default")))

enum { SMALL_PAGE = 1 << 12 };

double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__linux__)
/* Seconds for the first HUGE_PAGE bytes at `memory`, in pages of one kind. */
static double seconds_for(void *memory, int kind, double (*seconds)(void)) {
    volatile char *bytes = memory;
    double start = seconds();
    madvise(memory, HUGE_PAGE, kind);
    for (int at = 0; at < HUGE_PAGE; at += SMALL_PAGE) bytes[at] = 0;
    return seconds() - start;
}

/* What is tried is part of the state, so nothing is taken that would not be taken anyway. */
EXPORT void qtj_choose_pages(void *memory, size_t bytes, double (*seconds)(void)) {
    if (bytes < 2 * HUGE_PAGE) return;
    double huge = seconds_for(memory, MADV_HUGEPAGE, seconds);
    double small = seconds_for((char *)memory + HUGE_PAGE, MADV_NOHUGEPAGE, seconds);
    madvise(memory, bytes, huge <= small ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}
#else
EXPORT void qtj_choose_pages(void *memory, size_t bytes, double (*seconds)(void)) {}
#endif
