/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * turns.h - reads the recordings of a session, several at a time, and takes their results in order
 *
 * Each of opts.jobs threads reads one recording after the other apart: see part.h. When it has read one, it
 * waits until all recordings before that one have been taken, then takes it: so the session's results are
 * the same whatever the number of threads, and whichever is done first, and no more recordings than threads
 * are in memory at a time.
 *
 * A recording is read with the session's own model, in its turn, where single events are wanted by a sink
 * that does not know of parts, and where reading it apart shows that it cannot be (part.again).
 *
 * The number of a GPU depends on the recordings before. Where it decides what is in a part, the threads also
 * wait for one another after the first pass, and the GPUs get their numbers in the order of the recordings.
 */
#ifndef MERGE_TURNS_H
#define MERGE_TURNS_H

#include "join/session.h"

/* Reads all inputs. Return: 0; -ENOMEM or the sink's error, with the input that has it in passes.input. */
int turns__run(struct session *s);

/* Reads an input with the session's own model; those before it have been read. Return: as turns__run(). */
int turns__next(struct session *s, size_t nr);

#endif /* MERGE_TURNS_H */
