/* SPDX-License-Identifier: MIT */
/*
 * sink.h - sends records of metrics and messages to xpuload through a socket
 *
 * Each message of the socket has whole records of xpu_record.h. The program exits when xpuload has
 * ended.
 */
#ifndef METRICS_SINK_H
#define METRICS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct metric {
	const char *name, *unit;
	enum xpu_metric_kind kind;
};

/* Metrics of one GPU that are sampled together. */
struct set {
	uint16_t id;			/* the set's number; 0: not defined yet */
	uint16_t nr;			/* number of the set's metrics */
	uint64_t interval_ns;
	uint64_t last_end_ns;		/* the end of the latest row, or 0 */
	uint64_t base_ns;		/* the times of waiting rows are relative to this time */
	uint32_t nr_waiting;
	struct xpu_record_metrics_end account;
	uint32_t words[12 * 1024];
};

void sink__init(int fd);

/* Has xpuload print a message for the user. @level: enum xpu_message_level */
void sink__message(unsigned int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sends the records that wait, while the socket's queue has room. */
void sink__send_waiting(void);

/* Waits until xpuload has received all records. */
void sink__end(void);

/* Tells xpuload not to wait any longer: everything that can start has started. */
void sink__ready(void);

/**
 * set__define - send the definition of a set
 * @nr: number of @metrics, XPU_MAX_METRICS at most
 * @interval_ns: the interval requested between rows; longer gaps count as lost time
 */
void set__define(struct set *set, const uint8_t uuid[16], const struct metric *metrics,
		 unsigned int nr, uint64_t interval_ns);

/*
 * Adds a row of set->nr values. Cuts off the part of the row before the end of the previous row;
 * skips the row if nothing is left.
 */
void set__row(struct set *set, uint64_t begin_ns, uint64_t end_ns, const float *values);

void set__flush(struct set *set);
void set__end(struct set *set);

#endif /* METRICS_SINK_H */
