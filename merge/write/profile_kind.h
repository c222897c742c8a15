/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_kind.h - kinds of profiles for profile servers, each with one type of value
 *
 * Source of the names and units: parca-agent, reporter/parca_reporter.go.
 */
#ifndef MERGE_PROFILE_KIND_H
#define MERGE_PROFILE_KIND_H

#include <stdint.h>

#include "join/session.h"

enum profile_kind {
	PROFILE_GPU,
	PROFILE_COPY,
	PROFILE_CPU,
	PROFILE_WAIT,
	NR_PROFILE_KINDS,		/* also means all kinds in one profile, as -f pprof writes
					 * it */
};

/* the time span of a profile */
struct profile_time {
	uint64_t start_ns;		/* CLOCK_REALTIME */
	uint64_t duration_ns;
};

/* Return: "gpu_kernel_time", "gpu_copy_time", "cpu" or "wait"; the unit is "nanoseconds". */
const char *profile_kind__name(enum profile_kind kind);

/* Return: the kind to which a leaf's time belongs, or NR_PROFILE_KINDS. */
enum profile_kind profile_kind__of(enum leaf_kind leaf);

/* Return: a bit mask of the kinds for which @s has values. */
unsigned int profile_kinds__of(const struct session *s);

#endif /* MERGE_PROFILE_KIND_H */
