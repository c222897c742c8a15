// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/gpu_metrics.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host_clock.h"
#include "base/msg.h"
#include "own_files.h"
#include "record.h"
#include "record/writer.h"
#include "xpu_record.h"

#define PROGRAM		"xpuload-metrics"
#define AWAIT_NS	5000000000ull	/* the driver may have to initialize GPUs */
#define FINISH_NS	5000000000ull
#define MAX_BYTES	(64 * 1024)	/* maximum size of a record; sink.h has smaller records */
#define MAX_MESSAGES	16
/*
 * On many machines the driver shows counters only to programs with CAP_SYS_ADMIN or CAP_PERFMON.
 * NVIDIA's library creates missing device files, which takes CAP_MKNOD.
 */
#define ROOT_CAPS	(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_MKNOD))

struct gpu_metrics {
	pid_t pid;			/* 0: reaped */
	int fd;				/* -1: the program closed its end of the pipe */
	bool ready, ends;
	unsigned int nr_messages;
	struct gpu_metrics_stats stats;
	_Alignas(8) uint8_t record[MAX_BYTES];
};

static _Noreturn void run_child(int fd, pid_t parent, uint32_t hz, const char *names, char *path)
{
	char *args[XPU_MAX_METRICS + 3] = { path }, number[16] = "nvml", *copy, *word, *state;
	unsigned int nr = 1;

	if (child__settle(fd, parent, PROGRAM) || privileges__drop(geteuid() ? 0 : ROOT_CAPS))
		_exit(1);
	if (hz)
		snprintf(number, sizeof(number), "%u", hz);
	args[nr++] = number;
	copy = names ? strdup(names) : NULL;
	for (word = copy ? strtok_r(copy, ",", &state) : NULL; word && nr < XPU_MAX_METRICS + 2;
	     word = strtok_r(NULL, ",", &state))
		args[nr++] = word;
	execv(path, args);
	_exit(127);
}

struct gpu_metrics *gpu_metrics__start(uint32_t hz, const char *names)
{
	struct gpu_metrics *m = calloc(1, sizeof(*m));
	pid_t parent = getpid();
	char path[PATH_MAX];
	int fds[2];

	if (!m || own_files__find(PROGRAM, path, sizeof(path)) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		msg__warn("no GPU metrics: cannot run " PROGRAM);
		free(m);
		return NULL;
	}
	m->pid = fork();
	if (!m->pid)
		run_child(fds[1], parent, hz, names, path);
	close(fds[1]);
	m->fd = fds[0];
	if (m->pid > 0)
		return m;
	msg__warn("no GPU metrics: cannot run " PROGRAM ": %s", strerror(errno));
	close(m->fd);
	free(m);
	return NULL;
}

static void take_message(struct gpu_metrics *m, const struct xpu_record_message *msg, size_t size)
{
	char text[1024];

	if (size < sizeof(*msg) || !msg->bytes || msg->bytes > size - sizeof(*msg)) {
		m->stats.nr_malformed++;
		return;
	}
	if (!msg->hdr.misc) {
		m->ready = true;
		return;
	}
	if (m->nr_messages++ >= MAX_MESSAGES)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)msg->bytes - 1, msg->data);
	if (msg->hdr.misc == XPU_MESSAGE_INFO)
		msg__info("%s", text);
	else
		msg__warn("%s", text);
}

static void count(struct gpu_metrics *m, const struct xpu_record *rec)
{
	const struct xpu_record_metrics_end *end = (const void *)rec;

	if (rec->type == XPU_RECORD_METRICS)
		m->stats.nr_rows += ((const struct xpu_record_metrics *)rec)->nr_rows;
	if (rec->type != XPU_RECORD_METRICS_END)
		return;
	m->stats.nr_overflows += end->nr_overflows;
	m->stats.lost_ns += end->lost_ns;
}

/*
 * Checks a record's form: the program runs NVIDIA's libraries, and cannot be trusted. xpumerge
 * checks the record's contents.
 */
static bool is_record(const struct xpu_record *rec, size_t size)
{
	return size >= sizeof(*rec) && rec->size == size && !(size % 8) &&
	       rec->type >= XPU_RECORD_METRIC && rec->type <= XPU_RECORD_METRICS_END &&
	       size >= record_types[rec->type].least;
}

static void take(struct gpu_metrics *m, size_t size, struct writer *w)
{
	const struct xpu_record *rec = (const void *)m->record;

	if (size >= sizeof(*rec) && rec->type == XPU_RECORD_MESSAGE) {
		take_message(m, (const void *)rec, size);
	} else if (is_record(rec, size)) {
		writer__append(w, rec);
		count(m, rec);
	} else {
		m->stats.nr_malformed++;
	}
}

void gpu_metrics__drain(struct gpu_metrics *m, struct writer *w)
{
	ssize_t bytes;

	while (m && m->fd >= 0) {
		bytes = recv(m->fd, m->record, sizeof(m->record), MSG_DONTWAIT | MSG_TRUNC);
		if (bytes > (ssize_t)sizeof(m->record)) {
			m->stats.nr_malformed++;
		} else if (bytes > 0) {
			take(m, bytes, w);
		} else if (!bytes || (errno != EAGAIN && errno != EINTR)) {
			close(m->fd);
			m->fd = -1;
			if (!m->ends) {
				m->stats.failed = true;
				msg__warn(PROGRAM " has ended: no more GPU metrics");
			}
		} else {
			return;
		}
	}
}

static void wait_until(struct gpu_metrics *m, struct writer *w, const bool *what, uint64_t wait_ns)
{
	uint64_t end_ns = clock__now() + wait_ns, now_ns;
	struct pollfd p = { .events = POLLIN };

	while (m->fd >= 0 && !*what && (now_ns = clock__now()) < end_ns) {
		p.fd = m->fd;
		poll(&p, 1, (end_ns - now_ns) / 1000000 + 1);
		gpu_metrics__drain(m, w);
	}
}

void gpu_metrics__await(struct gpu_metrics *m, struct writer *w)
{
	if (m)
		wait_until(m, w, &m->ready, AWAIT_NS);
}

/* Ends the helper. Return: its wait status, as of waitpid(); 0 if it was killed here. */
static int end(struct gpu_metrics *m)
{
	bool runs = m->fd >= 0;
	int status = 0;

	if (runs) {
		close(m->fd);
		kill(m->pid, SIGKILL);
		m->fd = -1;
	}
	if (m->pid)
		waitpid(m->pid, &status, 0);
	m->pid = 0;
	return runs ? 0 : status;
}

void gpu_metrics__finish(struct gpu_metrics *m, struct writer *w, struct gpu_metrics_stats *stats)
{
	static const bool never;

	*stats = (struct gpu_metrics_stats){ 0 };
	if (!m)
		return;
	m->ends = true;
	if (m->fd >= 0)
		shutdown(m->fd, SHUT_WR);
	wait_until(m, w, &never, FINISH_NS);
	if (m->fd >= 0) {
		m->stats.failed = true;
		msg__warn(PROGRAM " does not end: the last GPU metrics are missing");
	}
	if (end(m) && !m->stats.failed) {
		m->stats.failed = true;
		msg__warn(PROGRAM " has failed: the last GPU metrics may be missing");
	}
	*stats = m->stats;
}

void gpu_metrics__free(struct gpu_metrics *m)
{
	if (!m)
		return;
	end(m);
	free(m);
}
