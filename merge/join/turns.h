/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * turns.h - reads the recordings of a session, several at a time, and takes their results in order
 *
 * Each of opts.jobs threads reads one recording after another, separately (see read_job.h). A
 * thread that has read a recording waits until all earlier recordings have been taken, then takes
 * its recording. So the session's results do not depend on the number of threads or on which thread
 * is done first, and at most one recording per thread is in memory.
 *
 * A recording is read with the session's own model, in its turn, if a sink of single events does
 * not support separate reading, or if reading shows that the recording cannot be read separately
 * (read_job.again).
 *
 * The number of a GPU depends on earlier recordings. If the results of a read job depend on GPU
 * numbers, threads also wait for each other after the first pass, and GPUs are numbered in the
 * order of the recordings.
 */
#ifndef MERGE_TURNS_H
#define MERGE_TURNS_H

#include "join/session.h"

/*
 * Reads all inputs. Return: 0, -ENOMEM or the sink's error. After an error, passes.input is the
 * failed input.
 */
int turns__run(struct session *s);

/*
 * Reads an input with the session's own model, after all earlier inputs. Return: like turns__run().
 */
int turns__next(struct session *s, size_t nr);

/* Looks up the names of the session's only input: see read_job__look_up(). */
int turns__look_up(struct session *s);

#endif /* MERGE_TURNS_H */
