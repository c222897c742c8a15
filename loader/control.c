// SPDX-License-Identifier: GPL-3.0-or-later
#include "control.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/msg.h"
#include "options.h"
#include "recording.h"
#include "target/target.h"
#include "util.h"

#define LINE_MAX_BYTES	64		/* no command is longer */
#define POLL_MS		100

struct supervisor {
	struct options *opts;
	struct target target;		/* pid 0: it runs already */
	int signal_fd;
	pid_t recorder;			/* the child that records; 0: none */
	int ready_fd;			/* it has attached, or failed; -1: it has said so */
	bool must_ack;			/* somebody waits for that, or for its end */
	bool stopping;			/* it was told to end */
	bool ends;			/* when it has ended, all ends */
	uint64_t open_ns, close_ns;	/* of the clock's window; UINT64_MAX: none */
	int status;			/* the worst of the recordings' */
	char line[LINE_MAX_BYTES];
	size_t nr;			/* bytes of a command so far; beyond LINE_MAX_BYTES: too many */
};

/* ---- recordings ------------------------------------------------------------------------------ */

/* The child that records one window. */
static _Noreturn void record(struct supervisor *s, int ready_fd)
{
	struct options *opts = s->opts;
	struct options own = *opts;
	pid_t pid = s->target.pid;

	close(s->signal_fd);
	own.control = (struct control){ .fd = -1, .ack_fd = -1 };
	own.capture = (struct capture){ .after_ns = UINT64_MAX };
	own.ready_fd = ready_fd;
	if (own.mode == PROBES_RUN) {
		own.mode = PROBES_PID;
		own.pids = &pid;
		own.nr_pids = 1;
		/* The target's shim has read them from its environment. */
		own.stalls_have_how = own.all_api = false;
	}
	exit(recording__whole(&own, NULL));
}

static void ack(struct supervisor *s)
{
	if (s->must_ack && s->opts->control.ack_fd >= 0 && write(s->opts->control.ack_fd, "ack\n", 4) != 4)
		msg__warn("--control: nobody takes the ack");
	s->must_ack = false;
}

static void open_window(struct supervisor *s)
{
	int ready[2];

	if (s->recorder) {
		ack(s);			/* it is open */
		return;
	}
	if (pipe2(ready, O_CLOEXEC)) {
		msg__error("cannot record: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	s->recorder = fork();
	if (!s->recorder)
		record(s, ready[1]);
	close(ready[1]);
	s->ready_fd = ready[0];
	s->stopping = false;
	if (s->recorder > 0)
		return;
	msg__error("cannot fork: %s", strerror(errno));
	s->recorder = 0;
}

static void close_window(struct supervisor *s)
{
	if (!s->recorder)
		ack(s);
	else if (!s->stopping)
		kill(s->recorder, SIGINT);
	s->stopping = true;
}

static void hear_ready(struct supervisor *s)
{
	close(s->ready_fd);
	s->ready_fd = -1;
	if (!s->stopping)
		ack(s);
}

static void reap_recorder(struct supervisor *s, int options)
{
	int status;

	if (!s->recorder || waitpid(s->recorder, &status, options) != s->recorder)
		return;
	s->recorder = 0;
	if (s->ready_fd >= 0)
		close(s->ready_fd);
	s->ready_fd = -1;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
	s->status = s->status ?: status;
	ack(s);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void obey(struct supervisor *s, const char *command)
{
	if (!*command)
		return;
	s->must_ack = true;
	if (!strcmp(command, "enable")) {
		open_window(s);
	} else if (!strcmp(command, "disable")) {
		close_window(s);
	} else if (!strcmp(command, "ping")) {
		ack(s);
	} else if (!strcmp(command, "stop")) {
		s->ends = true;
		close_window(s);
	} else {
		s->must_ack = false;
		msg__warn("--control: '%s': expected enable, disable, ping or stop", command);
	}
}

/* Whether a command that takes its time is being obeyed: the next one waits. */
static bool is_busy(const struct supervisor *s)
{
	return s->recorder && (s->ready_fd >= 0 || s->stopping);
}

static void take_byte(struct supervisor *s, char c)
{
	if (c != '\n') {
		if (s->nr < sizeof(s->line) - 1)
			s->line[s->nr] = isprint((unsigned char)c) ? c : ' ';
		s->nr++;
		return;
	}
	if (s->nr >= sizeof(s->line))
		msg__warn("--control: a line is too long for a command");
	s->line[s->nr < sizeof(s->line) ? s->nr : 0] = '\0';
	s->nr = 0;
	obey(s, s->line);
}

static void take_commands(struct supervisor *s)
{
	ssize_t n = 1;
	char c;

	while (!is_busy(s) && (n = read(s->opts->control.fd, &c, 1)) == 1)
		take_byte(s, c);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (n < 0)
		msg__warn("--control: cannot read commands: %s", strerror(errno));
	s->opts->control.fd = -1;	/* the writer of a pipe has gone: all goes on as it is */
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		/* A signal of the terminal's has reached the others, too. */
		if (s->target.pid && info.ssi_code != SI_KERNEL)
			kill(s->target.pid, info.ssi_signo);
		s->ends |= !s->target.pid;
		if (s->ends)
			close_window(s);
	}
	reap_recorder(s, WNOHANG);
	if (s->target.pid && !s->target.exited)
		target__reap(&s->target);
}

static void follow_clock(struct supervisor *s)
{
	uint64_t now = clock__now();

	if (now >= s->open_ns) {
		s->open_ns = UINT64_MAX;
		open_window(s);
		if (s->opts->capture.for_ns)
			s->close_ns = now + s->opts->capture.for_ns;
	}
	if (now >= s->close_ns) {
		s->close_ns = UINT64_MAX;
		close_window(s);
	}
}

static int timeout_ms(const struct supervisor *s)
{
	uint64_t next = s->open_ns < s->close_ns ? s->open_ns : s->close_ns, now = clock__now();

	if (next == UINT64_MAX)
		return POLL_MS;
	return next <= now ? 0 : next - now < POLL_MS * 1000000ull ? (next - now) / 1000000 + 1 : POLL_MS;
}

/* Whether there is nothing left to do but to end. */
static bool is_over(const struct supervisor *s)
{
	const struct options *opts = s->opts;

	if (s->target.pid)
		return s->target.exited;
	if (s->recorder)
		return false;
	return s->ends || (opts->control.fd < 0 && s->open_ns == UINT64_MAX);
}

static void supervise(struct supervisor *s)
{
	while (!is_over(s)) {
		struct pollfd fds[] = {
			{ .fd = s->signal_fd, .events = POLLIN },
			{ .fd = s->ready_fd, .events = POLLIN },
			{ .fd = is_busy(s) || s->ends ? -1 : s->opts->control.fd, .events = POLLIN },
		};

		poll(fds, ARRAY_SIZE(fds), timeout_ms(s));
		if (fds[1].revents)
			hear_ready(s);
		take_signals(s);
		if (!s->ends)
			follow_clock(s);
		if (!s->ends && s->opts->control.fd >= 0)
			take_commands(s);
	}
	/* It takes what is left in the ring, and ends by itself, as the target has. */
	reap_recorder(s, 0);
}

static int start_target(struct supervisor *s)
{
	const struct options *opts = s->opts;
	int err;

	recording__set_environment(opts, true);
	s->target.waits = true;
	err = target__fork(&s->target, opts->argv, opts->shim) ?: target__exec(&s->target);
	if (!err)
		return 0;
	msg__error("cannot run %s: %s", opts->argv[0], strerror(-err));
	return err == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

int control__run(struct options *opts, int *wait_status)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct supervisor s = {
		.opts = opts, .ready_fd = -1, .open_ns = UINT64_MAX, .close_ns = UINT64_MAX,
	};
	sigset_t set;
	int status;
	size_t i;

	if (control__open(&opts->control))
		return STATUS_FAILED;
	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.signal_fd < 0) {
		msg__error("cannot take signals: %s", strerror(errno));
		return STATUS_FAILED;
	}
	if (opts->mode == PROBES_RUN) {
		status = start_target(&s);
		if (status)
			return status;
	}
	if (opts->capture.after_ns != UINT64_MAX)
		s.open_ns = clock__now() + opts->capture.after_ns;
	supervise(&s);
	close(s.signal_fd);
	*wait_status = s.target.wait_status;
	return s.status;
}
