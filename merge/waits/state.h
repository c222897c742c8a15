/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * state.h - the state of the feature waits: waits for GPUs, off-CPU times, lifetimes of threads,
 * and what threads did while GPUs were idle
 */
#ifndef MERGE_WAITS_STATE_H
#define MERGE_WAITS_STATE_H

#include "model/feature.h"
#include "model/model.h"
#include "waits/idle.h"
#include "waits/waits.h"

/* the lifetime of a thread, recorded with --off-cpu */
struct thread_account {
	const struct xpu_record_account *rec;
	struct xpu_thread_time time;	/* times of the record, with negative times corrected */
	uint32_t thread;
	const char *comm;		/* the thread's name at its end */
};

struct waits_state {
	/* records of the recording that is being read */
	ARRAY(const struct xpu_record_wait *) wait_records;
	ARRAY(const struct xpu_record_account *) account_records;
	struct waits waits;
	bool shared;			/* waits__share() was called, so it is known which waits
					 * count */
	/* gaps in all recordings */
	struct idles idles;
	ARRAY(struct thread_account) accounts;
	ARRAY(uint64_t) waited_ns;	/* by thread, up to the last thread that waited for a GPU */
	uint64_t off_unsure_ns;		/* largest possible error of off-CPU times; it arises where
					 * the filter cut sums of short times */
};

/* Return: the state of the model; if the model has no times, an empty state. */
const struct waits_state *waits_state__of(const struct model *m);

/* Adds a time in which a thread waited for a GPU. Return: 0 or -ENOMEM. */
int waits_state__waited(struct waits_state *s, uint32_t thread, uint64_t ns);

static inline uint64_t waits_state__waited_ns(const struct model *m, uint32_t thread)
{
	const struct waits_state *s = waits_state__of(m);

	return thread < s->waited_ns.nr ? s->waited_ns.v[thread] : 0;
}

/* answer_waits.c, text_waits.c */
struct session;

void waits__answer(const struct session *s, FILE *f, const struct feature_answer *a);
void waits__left_out(const struct session *s, FILE *f);

struct section;

extern const struct section section_threads, section_idle;

#endif /* MERGE_WAITS_STATE_H */
