/* The memory that is free, what engines may keep of it, and whether a call fits: that is compared before anything is
 * written.
 *
 * Control groups of version 2 have one hierarchy; those of version 1 have one for memory, which /proc/self/cgroup names.
 * Every group from that of the process up to the root may have a limit; a container sees its own as the root.
 *
 * All engines of a process share what may be taken for states that wait for their gradient. The first engine that asks
 * gets what is left, and what does not fit is computed again. An engine returns its memory when it is released. */
#include "room.h"
#include "memory.h"
#include "pool.h"
#include "qtj.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_PATH = 4096 };

typedef struct {
    const char *folder, *limit, *used;
    const char *cached[2]; /* in memory.stat: cached files, which the kernel drops before it ends a process */
} Names;

static const Names VERSION_1 = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                {"total_inactive_file", "total_active_file"}};
static const Names VERSION_2 = {"", "memory.max", "memory.current", {"inactive_file", "active_file"}};

/* The number after a name, on a line of a file; the file's only one for the empty name. -1: there is none. */
static int64_t number_in(const char *folder, const char *file, const char *name) {
    char path[2 * MAX_PATH], line[256];
    snprintf(path, sizeof path, "%s%s", folder, file);
    FILE *opened = fopen(path, "r");
    if (!opened) return -1;
    int64_t found = -1;
    size_t length = strlen(name);
    while (found < 0 && fgets(line, sizeof line, opened)) {
        char *end;
        if (strncmp(line, name, length) || (length && line[length] != ' ')) continue;
        long long value = strtoll(line + length, &end, 10);
        if (end != line + length && value >= 0) found = value;
    }
    fclose(opened);
    return found;
}

/* What a group has left, if that is less than `least`. */
static size_t room_of(const char *group, const Names *names, size_t least) {
    char folder[MAX_PATH + 2];
    snprintf(folder, sizeof folder, "%s/", group);
    int64_t limit = number_in(folder, names->limit, ""), used = number_in(folder, names->used, "");
    if (limit < 0) return least;
    if (used < 0) used = 0;
    for (int i = 0; i < 2; i++) {
        int64_t cached = number_in(folder, "memory.stat", names->cached[i]);
        if (cached > 0) used -= cached;
    }
    int64_t room = limit - (used > 0 ? used : 0);
    size_t left = room > 0 ? (size_t)room : 0;
    return left < least ? left : least;
}

static size_t room_up_to_the_root(const char *mounts, const char *path, const Names *names, size_t least) {
    char group[MAX_PATH];
    int root = snprintf(group, sizeof group, "%s%s", mounts, names->folder);
    if (root < 0 || (size_t)root + strlen(path) >= sizeof group) return least;
    strcpy(group + root, path);
    for (;;) {
        least = room_of(group, names, least);
        char *slash = strrchr(group + root, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

/* Whether "memory" is one of the words between commas. */
static int has_memory(const char *controllers) {
    size_t length = strlen("memory");
    for (const char *at = controllers; (at = strstr(at, "memory")); at += length)
        if ((at == controllers || at[-1] == ',') && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

/* A line is ID:CONTROLLERS:PATH. */
static size_t room_of_line(const char *mounts, char *line, size_t least) {
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return least;
    *controllers++ = *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    if (!*controllers) return room_up_to_the_root(mounts, path, &VERSION_2, least);
    return has_memory(controllers) ? room_up_to_the_root(mounts, path, &VERSION_1, least) : least;
}

EXPORT size_t qtj_free_memory(const char *mounts, const char *own, const char *machine) {
    int64_t available = number_in(machine, "", "MemAvailable:");
    size_t least = available < 0 ? SIZE_MAX : (size_t)available * 1024;
    FILE *groups = fopen(own, "r");
    char line[MAX_PATH];
    least = room_up_to_the_root(mounts, "", &VERSION_2, room_up_to_the_root(mounts, "", &VERSION_1, least));
    while (groups && fgets(line, sizeof line, groups)) least = room_of_line(mounts, line, least);
    if (groups) fclose(groups);
    return least == SIZE_MAX ? 0 : least;
}

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

/* Bytes that a call would take now. */
typedef size_t Missing(Engine *, long batch);

static int qubits_of(const Engine *e) {
    int in_lanes = e->plan.qubits_in_lanes ? __builtin_ctz((unsigned)e->variant->lanes) : 0;
    return e->plan.vector_bits + in_lanes;
}

/* The most examples that would fit, halved so often; 0: not even one. */
static long fitting_batch(Engine *e, long batch, Missing *missing) {
    while (batch && !has_room(missing(e, batch))) batch /= 2;
    return batch;
}

/* One qubit less halves all states, also those that are taken already. */
static int fitting_qubits(int qubits, size_t missing) {
    size_t held = workspace.scratch_bytes + workspace.lambda_bytes, all = missing + held;
    while (qubits > 1 && !has_room((all /= 2) > held ? all - held : 0)) qubits--;
    return qubits - 1;
}

static const char *refuse(Engine *e, long batch, Missing *missing) {
    char what[64], remedy[64];
    int qubits = qubits_of(e);
    long fitting = fitting_batch(e, batch, missing);
    size_t needed = missing(e, batch);
    snprintf(what, sizeof what, "%s of %d qubits%s", missing == missing_batch ? "the value" : "the gradient", qubits,
             e->variant->scalar_bytes == sizeof(double) ? " in double precision" : "");
    if (fitting) snprintf(remedy, sizeof remedy, "%ld of the %ld examples would fit", fitting, batch);
    else snprintf(remedy, sizeof remedy, "%d qubits would fit", fitting_qubits(qubits, needed));
    return refusal(what, needed, remedy);
}

const char *take_room(Engine *e, long batch, Purpose purpose) {
    Missing *missing = purpose == FOR_GRADIENTS ? missing_gradient : missing_batch;
    if (!has_room(missing(e, batch))) return refuse(e, batch, missing);
    const char *problem = reserve_batch(e, batch);
    return problem || purpose == FOR_VALUES ? problem : reserve_lambda(e);
}

static size_t missing_after_values(Engine *e, long batch) {
    (void)batch;
    return missing_lambda(e);
}

const char *take_room_for_gradients(Engine *e) {
    if (!has_room(missing_lambda(e))) return refuse(e, e->batch, missing_after_values);
    return reserve_lambda(e);
}
