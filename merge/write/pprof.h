/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pprof.h - the sums as a profile for pprof and other readers of its format, gzipped
 *
 * Each combination of call path, device work, thread and stream has a sample, with the values
 *
 *	gpu/nanoseconds		device time
 *	cpu/nanoseconds		time of the thread on a CPU
 *	launches/count		device records, plus launches whose work was never seen
 *	bytes/bytes		bytes that were copied or set
 *	wait/nanoseconds	time off the CPU or waiting for the device, if that was recorded
 *	stall/nanoseconds	time of stalls of kernels, if that was recorded
 *
 * and the labels comm, pid, tid, device and stream; if there are several hosts, it also has the
 * label host. Labels are strings, which every reader shows. The innermost location is the work that
 * ran, named as in a folded line. Every location has its function: readers need not, and should
 * not, symbolize it themselves.
 *
 * Source: third_party/pprof/profile.proto.
 */
#ifndef MERGE_PPROF_H
#define MERGE_PPROF_H

#include <stdio.h>

#include "join/session.h"
#include "write/profile_kind.h"

/*
 * Writes all sums of @s, which was made with by_thread and by_stream. Return: 0 or -ENOMEM; an
 * error of @f stays in its error flag.
 */
int pprof__write(const struct session *s, FILE *f);

/*
 * Writes the samples of one kind, with only the value of that kind. @time: the time span of the
 * profile
 */
int pprof__write_kind(const struct session *s, enum profile_kind kind,
		      const struct profile_time *time, FILE *f);

#endif /* MERGE_PPROF_H */
