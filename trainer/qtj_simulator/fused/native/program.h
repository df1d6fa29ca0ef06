/* Reads and checks a program that Python made. */
#ifndef QTJ_PROGRAM_H
#define QTJ_PROGRAM_H

#include "file.h"
#include "work.h"

const char *read_plan(Engine *e, const File *file, const Program *program);

#endif
