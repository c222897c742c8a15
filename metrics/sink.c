// SPDX-License-Identifier: MIT
#include "sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROW_MAX_NS	4000000000ull	/* a row's times are 32-bit offsets from base_ns */

#define WAITING_BYTES	(32u << 20)

static int sink_fd;
static uint16_t nr_sets;

/*
 * Records that wait for room in the socket's queue, which holds about ten records. They are kept
 * here so that sampling continues while xpuload attaches, is short of CPU time, or is stopped.
 */
static struct {
	uint8_t *room;
	size_t begin, end;		/* the bytes of @room that records fill */
} waiting;

void sink__init(int fd)
{
	sink_fd = fd;
}

/*
 * Sends a record, if there is room for it. @flags: MSG_DONTWAIT, or 0 to wait. Return: false if the
 * socket's queue is full.
 */
static bool try_send(const void *record, size_t bytes, int flags)
{
	if (send(sink_fd, record, bytes, MSG_NOSIGNAL | flags) == (ssize_t)bytes)
		return true;
	if (errno != EAGAIN)
		exit(1);
	return false;
}

static void send_waiting(int flags)
{
	const struct xpu_record *rec;

	for (; waiting.begin < waiting.end; waiting.begin += rec->size) {
		rec = (const void *)(waiting.room + waiting.begin);
		if (!try_send(rec, rec->size, flags))
			return;
	}
	waiting.begin = waiting.end = 0;
}

void sink__send_waiting(void)
{
	send_waiting(MSG_DONTWAIT);
}

void sink__end(void)
{
	send_waiting(0);
}

static void send_record(const void *record, size_t bytes)
{
	send_waiting(0);
	try_send(record, bytes, 0);
}

/* Sends a record as soon as there is room for it. Waits only if too many records wait already. */
static void send_soon(const void *record, size_t bytes)
{
	if (!waiting.end && try_send(record, bytes, MSG_DONTWAIT))
		return;
	if (!waiting.room)
		waiting.room = malloc(WAITING_BYTES);	/* takes memory only as it is used */
	if (!waiting.room || bytes > WAITING_BYTES - waiting.end) {
		send_record(record, bytes);
		return;
	}
	memcpy(waiting.room + waiting.end, record, bytes);
	waiting.end += bytes;
}

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static void send_message(unsigned int level, const char *text, size_t bytes)
{
	_Alignas(8) uint8_t room[sizeof(struct xpu_record_message) + 1024] = { 0 };
	struct xpu_record_message *m = (void *)room;

	m->hdr.type = XPU_RECORD_MESSAGE;
	m->hdr.misc = level;
	m->hdr.size = padded(sizeof(*m) + bytes);
	m->bytes = bytes;
	memcpy(m->data, text, bytes);
	send_soon(m, m->hdr.size);
}

void sink__message(unsigned int level, const char *fmt, ...)
{
	char text[1000];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		return;
	send_message(level, text, strlen(text) + 1);
}

void sink__ready(void)
{
	send_message(0, "", 1);
}

void set__define(struct set *set, const uint8_t uuid[16], const struct metric *metrics,
		 unsigned int nr, uint64_t interval_ns)
{
	_Alignas(8) uint8_t room[sizeof(struct xpu_record_metric) + 2 * XPU_METRIC_NAME_MAX];
	struct xpu_record_metric *m = (void *)room;
	unsigned int i;
	int name, unit;

	memset(set, 0, sizeof(*set));
	set->id = ++nr_sets;
	set->nr = nr;
	set->interval_ns = interval_ns;
	for (i = 0; i < nr; i++) {
		memset(room, 0, sizeof(room));
		name = snprintf(m->data, XPU_METRIC_NAME_MAX, "%s", metrics[i].name);
		name = name < XPU_METRIC_NAME_MAX ? name + 1 : XPU_METRIC_NAME_MAX;
		unit = snprintf(m->data + name, XPU_METRIC_NAME_MAX, "%s", metrics[i].unit);
		unit = unit < XPU_METRIC_NAME_MAX ? unit + 1 : XPU_METRIC_NAME_MAX;
		m->hdr.type = XPU_RECORD_METRIC;
		m->hdr.size = padded(sizeof(*m) + name + unit);
		m->set = set->id;
		m->index = i;
		m->kind = metrics[i].kind;
		memcpy(m->uuid, uuid, sizeof(m->uuid));
		m->name_bytes = name;
		m->unit_bytes = unit;
		send_record(m, m->hdr.size);
	}
}

void set__flush(struct set *set)
{
	_Alignas(8) uint8_t room[sizeof(struct xpu_record_metrics) + sizeof(set->words) + 8];
	struct xpu_record_metrics *m = (void *)room;
	size_t bytes = set->nr_waiting * XPU_METRICS_ROW_WORDS(set->nr) * sizeof(set->words[0]);

	if (!set->nr_waiting)
		return;
	*m = (struct xpu_record_metrics){
		.hdr = { XPU_RECORD_METRICS, 0, padded(sizeof(*m) + bytes) },
		.set = set->id,
		.nr_metrics = set->nr,
		.nr_rows = set->nr_waiting,
		.time_ns = set->base_ns,
	};
	memset(room + m->hdr.size - 8, 0, 8);
	memcpy(m->words, set->words, bytes);
	send_soon(m, m->hdr.size);
	set->account.nr_rows += set->nr_waiting;
	set->nr_waiting = 0;
}

void set__row(struct set *set, uint64_t begin_ns, uint64_t end_ns, const float *values)
{
	size_t row = XPU_METRICS_ROW_WORDS(set->nr);
	uint32_t *words;

	if (set->last_end_ns && begin_ns < set->last_end_ns)
		begin_ns = set->last_end_ns;
	if (end_ns <= begin_ns || end_ns - begin_ns > ROW_MAX_NS)
		return;
	if (set->last_end_ns && begin_ns - set->last_end_ns > set->interval_ns / 2)
		set->account.lost_ns += begin_ns - set->last_end_ns;
	set->last_end_ns = end_ns;
	if (set->nr_waiting &&
	    ((set->nr_waiting + 1) * row > sizeof(set->words) / sizeof(set->words[0]) ||
	     begin_ns - set->base_ns > ROW_MAX_NS))
		set__flush(set);
	if (!set->nr_waiting)
		set->base_ns = begin_ns;
	words = set->words + set->nr_waiting++ * row;
	words[0] = begin_ns - set->base_ns;
	words[1] = end_ns - begin_ns;
	memcpy(words + 2, values, set->nr * sizeof(float));
}

void set__end(struct set *set)
{
	if (!set->id)
		return;
	set__flush(set);
	set->account.hdr = (struct xpu_record){ XPU_RECORD_METRICS_END, 0, sizeof(set->account) };
	set->account.set = set->id;
	send_soon(&set->account, sizeof(set->account));
}
