/* The list of threads that TensorFlow's tracer makes when a trace ends, without the mistake that kills the process.

   TraceMeRecorder::Consume (xla/tsl/profiler/backends/cpu/traceme_recorder.cc in TensorFlow 2.18) appends the events of
   each thread to a std::vector<ThreadEvents>. Meanwhile it keeps pointers to events that ended an activity of another
   thread, such as a collective operation. When the vector grows, it copies its elements and frees the old ones, for
   libstdc++'s std::deque may throw when it is moved. The pointers are then into freed memory, and Consume writes through
   them. Newer versions call result.reserve(recorders.size()) first, so the vector never grows.

   The function that grows the vector is a weak symbol, called through the procedure linkage table. A definition that the
   dynamic linker knows before TensorFlow is loaded takes its place. This one moves the elements, so that all events stay
   where they are, as they would in a vector with room for them. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW \
    _ZNSt6vectorIN3tsl8profiler15TraceMeRecorder12ThreadEventsESaIS3_EE17_M_realloc_insertIJS3_EEEvN9__gnu_cxx17__normal_iteratorIPS3_S5_EEDpOT_

/* std::string of libstdc++: a short text stands within the object itself. */
typedef struct {
    char *text;
    size_t length;
    char within[16];
} String;

/* ThreadEvents: std::deque of libstdc++ holds no pointer to itself, and all zeros is one that owns nothing. */
typedef struct {
    uint32_t id;
    String name;
    uint64_t events[10];
} Thread;

typedef struct {
    Thread *first, *end, *limit;
} Threads;

_Static_assert(sizeof(void *) != 8 || sizeof(Thread) == 120, "ThreadEvents of TensorFlow 2.18 has 120 bytes");

static void move(Thread *to, Thread *from)
{
    *to = *from;
    if (from->name.text == from->name.within)
        to->name.text = to->name.within;
    from->name.text = from->name.within;
    from->name.length = 0;
    from->name.within[0] = '\0';
    memset(from->events, 0, sizeof from->events);
}

/* Appends to a full vector. Consume inserts nowhere but at the end. */
__attribute__((visibility("default")))
void GROW(Threads *threads, Thread *at, Thread *added)
{
    (void)at;
    size_t count = (size_t)(threads->end - threads->first);
    size_t room = count ? 2 * count : 256;
    Thread *larger = malloc(room * sizeof *larger); /* freed by operator delete, which is free in libstdc++ */
    if (!larger)
        abort(); /* as a std::bad_alloc that nobody catches would */
    for (size_t k = 0; k < count; k++)
        move(&larger[k], &threads->first[k]);
    move(&larger[count], added);
    free(threads->first);
    *threads = (Threads){larger, larger + count + 1, larger + room};
}
