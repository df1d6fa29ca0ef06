/* The memory that a process may still take. Control groups of version 2 have one hierarchy; those of version 1 have one
 * for memory, which /proc/self/cgroup names. Every group from that of the process up to the root may have a limit; a
 * container sees its own as the root. */
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
