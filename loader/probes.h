/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probes.h - the BPF programs, loaded and attached
 */
#ifndef XPU_LOADER_PROBES_H
#define XPU_LOADER_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu.h"
#include "xpu_record.h"

struct probes;

struct probes_options {
	const char *shim;		/* path of libxpushim.so */
	uint64_t ring_bytes;		/* rounded up to a power of two of at least a page */
};

typedef void (*probes_record_fn)(void *ctx, const void *data, size_t size);

/**
 * probes__open - load the programs and attach them to the shim's probe sites
 * @fn: called by probes__drain() for every record
 * @why: on failure, one line that says what failed and what to do; @len bytes
 *
 * From here on every process that runs this shim sees its semaphores raised; what is recorded is
 * decided by process, see probes__adopt_next_child().
 *
 * Return: 0 or a negative errno.
 */
int probes__open(const struct probes_options *opts, probes_record_fn fn, void *ctx,
		 struct probes **p, char *why, size_t len);
void probes__close(struct probes *p);

/* The next child that this process forks is recorded, with all its descendants. */
void probes__adopt_next_child(struct probes *p);

/* Polls readable when the ring is a quarter full; owned by @p. */
int probes__fd(const struct probes *p);

/* Takes what is in the ring; stops early when @stop says so. */
void probes__drain(struct probes *p);

/* Absolute counts, by enum xpu_lost_kind. */
uint64_t probes__nr_lost(const struct probes *p, enum xpu_lost_kind kind);

/* The last signal @sig that was sent to the root of the recorded tree; *@s is a copy. */
void probes__signal(const struct probes *p, int sig, struct xpu_signal *s);

/**
 * probes__check - load the programs and attach them, then let go again
 *
 * As probes__open(); for xpuload --check.
 */
int probes__check(const char *shim, char *why, size_t len);

#endif /* XPU_LOADER_PROBES_H */
