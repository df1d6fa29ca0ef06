/* Work in pieces, over the threads of an engine. */
#ifndef QTJ_PIECES_H
#define QTJ_PIECES_H

#include "work.h"

/* How many threads work on so many things. */
int team_for(const Engine *e, long count);

/* All pieces of some work; fewer than `worth` are not worth a thread. */
void do_all(Engine *e, Piece *piece, long count, long worth);

#endif
