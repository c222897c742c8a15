/* SPDX-License-Identifier: MIT */
/*
 * sink.h - sends records of metrics and messages to xpuload, which reads the other end of a socket
 *
 * Records are those of xpu_record.h, whole ones in each message of the socket. When xpuload is gone
 * the program ends.
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
	uint16_t id;			/* 0: not defined */
	uint16_t nr;			/* of metrics */
	uint64_t interval_ns;
	uint64_t last_end_ns;		/* of the latest row; 0: there is none */
	uint64_t base_ns;		/* of the rows that wait */
	uint32_t nr_waiting;
	struct xpu_record_metrics_end account;
	uint32_t words[12 * 1024];
};

void sink__init(int fd);

/* Says something to the user, by xpuload. @level: enum xpu_message_level */
void sink__message(unsigned int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* All that could be started has started: xpuload need not wait any longer. */
void sink__ready(void);

/**
 * set__define - tell what a set has
 * @nr: of @metrics, XPU_MAX_METRICS at most
 * @interval_ns: between rows, as it was asked for: longer gaps between rows count as lost
 */
void set__define(struct set *set, const uint8_t uuid[16], const struct metric *metrics, unsigned int nr,
		 uint64_t interval_ns);

/* Adds a row of set->nr values; rows of no time, and those before the last one's end, are left out. */
void set__row(struct set *set, uint64_t begin_ns, uint64_t end_ns, const float *values);

void set__flush(struct set *set);
void set__end(struct set *set);

#endif /* METRICS_SINK_H */
