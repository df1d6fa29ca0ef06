/* Work in pieces, over the threads of an engine. Pieces are divided by their number, never by who comes first. */
#include "pieces.h"
#include "pool.h"

int team_for(const Engine *e, long count) { return count < e->threads ? (int)count : e->threads; }

/* What is done before and after the sweeps: some pieces are large and some small, in no order. */
typedef struct {
    Engine *engine;
    Piece *piece;
    long count;
} Pieces;

static void every_so_many(void *argument, int index, int of) {
    const Pieces *p = argument;
    for (long i = index; i < p->count; i += of) p->piece(p->engine, &p->engine->thread[index], i);
}

void do_all(Engine *e, Piece *piece, long count, long worth) {
    pool_run(team_for(e, count < worth ? 1 : count / worth), every_so_many, &(Pieces){e, piece, count});
}
