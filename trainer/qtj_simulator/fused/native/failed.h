/* Why a call failed, in the words of both libraries on top of qtj.h. */
#ifndef QTJ_FAILED_H
#define QTJ_FAILED_H

#include "qtj.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 256 };

static int lacks_memory(const char *problem) { return !strncmp(problem, QTJ_NO_MEMORY, strlen(QTJ_NO_MEMORY)); }

/* Writes the sentence; where it only says that memory is missing, with what the batch takes. Before a circuit is open,
 * its sizes are 0. */
static const char *why_it_failed(char sentence[SENTENCE], const char *problem, long batch, const Sizes *of) {
    if (of->scalar_bytes && !strcmp(problem, QTJ_NO_MEMORY))
        snprintf(sentence, SENTENCE,
                 "the fused engine: out of memory for a batch of %ld examples: it holds several state vectors of %.3g"
                 " MiB each",
                 batch, (double)((uint64_t)of->scalar_bytes * 2 << of->qubits) / (1 << 20));
    else snprintf(sentence, SENTENCE, "the fused engine: %s", problem);
    return sentence;
}

#endif
