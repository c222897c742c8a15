// SPDX-License-Identifier: MIT
/*
 * xpuload-push - sends profiles to a receiver, for xpumerge split
 *
 *	xpuload-push URL [LABELS]
 *
 * Each line of standard input names a profile: "ID KIND START_NS END_NS PATH". This program reads
 * the profile's file and removes it at once. The profile then waits in memory, within fixed limits.
 * In the end each profile gets a line on standard output, "sent ID" or "lost ID". After the end of
 * its input, the program tries for a few more seconds to send what is left. XPULOAD_PUSH_TOKEN is
 * sent as a bearer token.
 *
 * It has no capabilities, and opens only profiles and files that libcurl needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "now.h"
#include "privileges.h"
#include "receiver.h"
#include "safefile.h"

#define MAX_WAITING	64		/* maximum number of waiting profiles */
#define MAX_BYTES	(64u << 20)	/* maximum bytes of all waiting profiles */
#define MAX_PROFILE	(16u << 20)	/* maximum bytes of one profile */
#define SEND_MS		10000
#define FINISH_MS	3000
#define FIRST_PAUSE_MS	500		/* the pause after the first failure; it doubles at each
					 * further failure */
#define MAX_PAUSE_MS	15000
#define MAX_COMPLAINTS	8

struct waiting {
	unsigned long long id;
	struct profile profile;
};

struct pusher {
	struct receiver receiver;
	struct waiting v[MAX_WAITING];	/* oldest first */
	size_t nr, bytes;
	char line[PUSH_URL_MAX + 4096];
	size_t line_bytes;
	bool ended;			/* the end of the input was read */
	uint64_t end_ms;		/* when to stop trying; 0: the input has not ended */
	uint64_t next_ms, pause_ms;	/* when to try next, and how long to pause after that */
	unsigned int nr_complaints;
	char said[256];			/* the reason that was printed last */
};

static uint64_t now_ms(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000000;
}

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *fmt, ...)
{
	va_list args;

	fputs("xpuload: push: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- waiting profiles ------------------------------------------------------------------------ */

static void pusher__drop(struct pusher *p, const char *word)
{
	printf("%s %llu\n", word, p->v[0].id);
	p->bytes -= p->v[0].profile.bytes;
	free(p->v[0].profile.data);
	memmove(p->v, p->v + 1, --p->nr * sizeof(p->v[0]));
}

/* Reads a profile from its file and removes the file. Return: whether it could be read. */
static bool profile__read(struct profile *profile, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), dir;
	struct stat st;
	bool whole;

	dir = safefile__open_parent(path);
	if (dir >= 0) {
		safefile__unlink(dir, safefile__name(path), 0);
		close(dir);
	}
	if (fd < 0)
		return false;
	whole = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_PROFILE;
	profile->data = whole ? malloc(st.st_size + 1) : NULL;
	profile->bytes = whole ? st.st_size : 0;
	whole = profile->data && read(fd, profile->data, profile->bytes) == (ssize_t)profile->bytes;
	close(fd);
	if (!whole)
		free(profile->data);
	return whole;
}

static void pusher__take(struct pusher *p, const char *line)
{
	struct waiting w = { 0 };
	int at = 0;

	if (sscanf(line, "%llu %31s %" SCNu64 " %" SCNu64 " %n", &w.id, w.profile.kind,
		   &w.profile.start_ns, &w.profile.end_ns, &at) < 4 ||
	    !at)
		return;
	if (!profile__read(&w.profile, line + at)) {
		printf("lost %llu\n", w.id);
		return;
	}
	/* Make room by dropping the oldest profiles. */
	while (p->nr && (p->nr == MAX_WAITING || p->bytes + w.profile.bytes > MAX_BYTES))
		pusher__drop(p, "lost");
	p->bytes += w.profile.bytes;
	p->v[p->nr++] = w;
}

/* At the end of the input, sets for how many ms the waiting profiles may still be sent. */
static void pusher__end(struct pusher *p, unsigned int ms)
{
	if (!p->end_ms)
		p->end_ms = now_ms() + ms;
}

/* Return: whether to end the current request, because the input ended some seconds ago. */
static bool pusher__gives_up(void *ctx)
{
	struct pollfd fd = { .fd = STDIN_FILENO };
	struct pusher *p = ctx;

	/* The end of the input is noticed only now, and may have come up to a second ago. */
	if (!p->end_ms && poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR))
		pusher__end(p, FINISH_MS - 1000);
	return p->end_ms && now_ms() >= p->end_ms;
}

/* Reads input that has arrived, and takes the profile of each whole line. */
static void pusher__read(struct pusher *p)
{
	ssize_t n = read(STDIN_FILENO, p->line + p->line_bytes, sizeof(p->line) - p->line_bytes);
	char *end;

	if (n <= 0) {
		p->ended = !n || (errno != EINTR && errno != EAGAIN);
		if (p->ended)
			pusher__end(p, FINISH_MS);
		return;
	}
	p->line_bytes += n;
	while ((end = memchr(p->line, '\n', p->line_bytes))) {
		*end++ = '\0';
		pusher__take(p, p->line);
		p->line_bytes -= end - p->line;
		memmove(p->line, end, p->line_bytes);
	}
	if (p->line_bytes == sizeof(p->line))
		p->line_bytes = 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Prints a reason only when it changes, so that an absent receiver does not fill a log. */
static void pusher__complain(struct pusher *p, const char *what, const char *why)
{
	if (!strcmp(p->said, why) || p->nr_complaints >= MAX_COMPLAINTS)
		return;
	snprintf(p->said, sizeof(p->said), "%s", why);
	p->nr_complaints++;
	complain("%s: %s: %s%s", p->receiver.url.url, what, why,
		 p->nr_complaints == MAX_COMPLAINTS ? "; later reasons are not shown" : "");
}

static void pusher__send(struct pusher *p)
{
	uint64_t now = now_ms();
	long timeout_ms = SEND_MS;
	char why[256] = "";

	if (p->ended)
		timeout_ms = p->end_ms > now ? p->end_ms - now : 1;
	timeout_ms = timeout_ms < SEND_MS ? timeout_ms : SEND_MS;
	switch (receiver__send(&p->receiver, &p->v[0].profile, timeout_ms, why)) {
	case RECEIVER_TOOK:
		p->said[0] = '\0';
		p->pause_ms = p->next_ms = 0;
		pusher__drop(p, "sent");
		break;
	case RECEIVER_REFUSED:
		pusher__complain(p, "a profile is lost", why);
		pusher__drop(p, "lost");
		break;
	case RECEIVER_FAILED:
		pusher__complain(p, "tried again later", why);
		p->pause_ms = p->pause_ms ? p->pause_ms * 2 : FIRST_PAUSE_MS;
		if (p->pause_ms > MAX_PAUSE_MS)
			p->pause_ms = MAX_PAUSE_MS;
		p->next_ms = now_ms() + p->pause_ms;
		break;
	}
}

static void pusher__run(struct pusher *p)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t now = now_ms();
	int timeout_ms;

	while (!p->ended || (p->nr && now < p->end_ms)) {
		timeout_ms = !p->nr ? -1 : p->next_ms > now ? (int)(p->next_ms - now) : 0;
		if (p->ended && timeout_ms > (int)(p->end_ms - now))
			timeout_ms = p->end_ms - now;
		fd.fd = p->ended ? -1 : STDIN_FILENO;
		if (poll(&fd, 1, timeout_ms) > 0)
			pusher__read(p);
		now = now_ms();
		if (p->nr && now >= p->next_ms)
			pusher__send(p);
		if (fflush(stdout))
			return;		/* nobody reads the output any more */
		now = now_ms();
	}
	while (p->nr)
		pusher__drop(p, "lost");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct pusher p;
	const char *why;
	int err;

	if (argc < 2 || argc > 3) {
		fputs("usage: xpuload-push URL [LABELS]\n", stderr);
		return 2;
	}
	err = privileges__drop(0);
	if (err) {
		complain("cannot give up privileges: %s", strerror(-err));
		return 2;
	}
	/*
	 * Map each profile's memory separately, so that freeing it gives the memory back to Linux.
	 */
	mallopt(M_MMAP_THRESHOLD, 64 * 1024);
	signal(SIGPIPE, SIG_IGN);
	why = push_token__check(getenv("XPULOAD_PUSH_TOKEN"));
	if (why) {
		complain("XPULOAD_PUSH_TOKEN: %s", why);
		return 2;
	}
	why = push_url__parse(&p.receiver.url, argv[1]);
	if (!why)
		p.receiver.http = http__open(getenv("XPULOAD_PUSH_TOKEN"), &why);
	if (!p.receiver.http) {
		complain("%s: %s", argv[1], why);
		return 2;
	}
	http__ask(p.receiver.http, pusher__gives_up, &p);
	p.receiver.labels = argc > 2 ? argv[2] : "";
	gethostname(p.receiver.host, sizeof(p.receiver.host) - 1);
	pusher__run(&p);
	http__close(p.receiver.http);
	return 0;
}
