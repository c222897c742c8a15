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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "base/msg.h"
#include "options.h"
#include "recording.h"
#include "target/target.h"
#include "util.h"
#include "xpu_shm.h"

#define LINE_MAX_BYTES	64		/* longer than any command */
#define TURN_BYTES	4096		/* maximum bytes of commands to read before checking signals
					 * and the clock */
#define POLL_MS		100

struct supervisor {
	struct options *opts;
	struct target target;		/* pid 0: attached to running processes */
	int *pid_fds;			/* PROBES_PID: a pidfd for each running process of
					 * opts->pids */
	int signal_fd;
	pid_t recorder;			/* the child that records, or 0 */
	int ready_fd;			/* readable once @recorder has attached or failed; -1:
					 * already read */
	bool must_answer;		/* a command waits until @recorder attaches or ends */
	bool invites;			/* the command was "share" */
	bool told_unread;		/* warned that nobody reads the answers */
	bool stopping;			/* @recorder was asked to end */
	bool ends;			/* end as soon as @recorder has ended */
	uint64_t open_ns, close_ns;	/* when the clock opens and closes a window; UINT64_MAX:
					 * never */
	bool clock_is_open;		/* the open window was opened by the clock */
	int status;			/* the worst exit status of all recordings */
	char line[LINE_MAX_BYTES];
	size_t nr;			/* bytes of the current command; may exceed sizeof(line) */
};

/* ---- recordings ------------------------------------------------------------------------------ */

static bool has_ended(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	bool ended = fd < 0 || recording__has_ended(fd);

	if (fd >= 0)
		close(fd);
	return ended;
}

/* Records one window, in a child. */
static _Noreturn void record(struct supervisor *s, int ready_fd)
{
	struct options *opts = s->opts;
	struct options own = *opts;
	pid_t pid = s->target.pid;

	close(s->signal_fd);
	own.control = (struct control){ .fd = -1, .ack_fd = -1 };
	own.capture = (struct capture_opts){ .after_ns = UINT64_MAX };
	own.ready_fd = ready_fd;
	own.invites = s->invites && own.mode == PROBES_PID && own.nr_pids == 1;
	if (own.mode == PROBES_RUN) {
		if (has_ended(pid)) {
			msg__warn("the command has ended before it could be recorded");
			exit(0);
		}
		own.mode = PROBES_PID;
		own.own_target = true;
		own.pids = &pid;
		own.nr_pids = 1;
		/* The target's shim has already read these options from its environment. */
		own.stalls_have_how = own.all_api = false;
	}
	exit(recording__whole(&own, NULL));
}

/* Whether @fd can be read or written without waiting. */
static bool is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) == 1 && p.revents & (events | POLLHUP);
}

/* Answers the current command with @line, unless it was already answered. */
static void answer(struct supervisor *s, const char *line)
{
	ssize_t len = strlen(line);
	int fd = s->opts->control.ack_fd;

	if (s->must_answer && fd >= 0 && (!is_ready(fd, POLLOUT) || write(fd, line, len) != len) &&
	    !s->told_unread) {
		msg__warn("--control: nobody reads the answers");
		s->told_unread = true;
	}
	s->must_answer = false;
}

static void ack(struct supervisor *s)
{
	answer(s, "ack\n");
}

/* Handles the recorder's message that it has attached, or has failed to attach. */
static void hear_ready(struct supervisor *s)
{
	char address[XPU_SHM_ENV_BYTES] = "", line[sizeof(address) + 16];
	bool attached = read(s->ready_fd, address, sizeof(address) - 1) > 0;

	close(s->ready_fd);
	s->ready_fd = -1;
	if (!attached || s->stopping)
		return;
	snprintf(line, sizeof(line), *address ? "ack shm %s\n" : "ack\n", address);
	answer(s, line);
	if (s->clock_is_open)
		s->close_ns = clock__now() + s->opts->capture.for_ns;
}

static void open_window(struct supervisor *s)
{
	int ready[2];

	if (s->recorder) {
		ack(s);			/* the window is open already */
		return;
	}
	if (pipe2(ready, O_CLOEXEC)) {
		msg__error("cannot record: %s", strerror(errno));
		answer(s, "error: cannot record\n");
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
	answer(s, "error: cannot record\n");
	hear_ready(s);
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
	if (s->stopping && !status)
		ack(s);
	else
		answer(s, status ? "error: the recording has failed\n" :
		       "error: the recording has ended\n");
}

/* ---- commands -------------------------------------------------------------------------------- */

static void obey(struct supervisor *s, const char *command)
{
	if (!*command)
		return;
	s->must_answer = true;
	if (!strcmp(command, "enable") || !strcmp(command, "share")) {
		s->invites = !strcmp(command, "share");
		open_window(s);
	} else if (!strcmp(command, "disable")) {
		close_window(s);
	} else if (!strcmp(command, "ping")) {
		ack(s);
	} else if (!strcmp(command, "stop")) {
		s->ends = true;
		close_window(s);
	} else {
		msg__warn("--control: '%s': expected enable, share, disable, ping or stop",
			  command);
		answer(s, "error: expected enable, share, disable, ping or stop\n");
	}
}

/* Whether a slow command is in progress, so that the next command has to wait. */
static bool is_busy(const struct supervisor *s)
{
	return s->must_answer || (s->recorder && (s->ready_fd >= 0 || s->stopping));
}

static void take_byte(struct supervisor *s, char c)
{
	if (c != '\n') {
		if (s->nr < sizeof(s->line) - 1)
			s->line[s->nr] = isprint((unsigned char)c) ? c : ' ';
		s->nr++;
		return;
	}
	s->line[s->nr < sizeof(s->line) ? s->nr : sizeof(s->line) - 1] = '\0';
	s->nr = 0;
	obey(s, s->line);
}

static void take_commands(struct supervisor *s)
{
	int fd = s->opts->control.fd;
	ssize_t n = 1;
	size_t i;
	char c;

	for (i = 0; i < TURN_BYTES && n == 1 && !s->ends && !is_busy(s) && is_ready(fd, POLLIN);
	     i++) {
		n = read(fd, &c, 1);
		if (n == 1)
			take_byte(s, c);
	}
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (n < 0)
		msg__warn("--control: cannot read commands: %s", strerror(errno));
	else if (s->nr)
		take_byte(s, '\n');
	s->opts->control.fd = -1;	/* the writer closed the pipe: continue without commands */
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Removes ended processes from the list of attached ones. */
static void reap_pids(struct supervisor *s)
{
	struct options *opts = s->opts;
	size_t i;

	for (i = 0; s->pid_fds && i < opts->nr_pids; ) {
		if (!recording__has_ended(s->pid_fds[i])) {
			i++;
			continue;
		}
		close(s->pid_fds[i]);
		opts->nr_pids--;
		s->pid_fds[i] = s->pid_fds[opts->nr_pids];
		opts->pids[i] = opts->pids[opts->nr_pids];
	}
}

/* Opens the processes to attach to. Return: 0, or the status to exit with after a message. */
static int open_pids(struct supervisor *s)
{
	struct options *opts = s->opts;
	int status = 0;
	size_t i;

	s->pid_fds = malloc(opts->nr_pids * sizeof(*s->pid_fds));
	if (!s->pid_fds) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	for (i = 0; i < opts->nr_pids && !status; i++)
		status = recording__open_process(opts->pids[i], &s->pid_fds[i]);
	if (status) {
		free(s->pid_fds);
		s->pid_fds = NULL;
	}
	return status;
}

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		/* The terminal sends its signals (SI_KERNEL) to the target, too. */
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
		s->clock_is_open = s->opts->capture.for_ns;
		open_window(s);
	}
	if (now >= s->close_ns) {
		s->close_ns = UINT64_MAX;
		s->clock_is_open = false;
		close_window(s);
	}
}

static int timeout_ms(const struct supervisor *s)
{
	uint64_t next = s->open_ns < s->close_ns ? s->open_ns : s->close_ns, now = clock__now();

	if (next == UINT64_MAX)
		return POLL_MS;
	return next <= now ? 0 : next - now < POLL_MS * 1000000ull ? (next - now) / 1000000 + 1 :
	       POLL_MS;
}

/* Whether nothing is left to do. */
static bool is_over(const struct supervisor *s)
{
	const struct options *opts = s->opts;

	if (s->target.pid)
		return s->target.exited;
	if (s->recorder)
		return false;
	return s->ends || (s->pid_fds && !opts->nr_pids) ||
	       (opts->control.fd < 0 && s->open_ns == UINT64_MAX);
}

static void supervise(struct supervisor *s)
{
	while (!is_over(s)) {
		struct pollfd fds[] = {
			{ .fd = s->signal_fd, .events = POLLIN },
			{ .fd = s->ready_fd, .events = POLLIN },
			{ .fd = is_busy(s) || s->ends ? -1 : s->opts->control.fd,
			  .events = POLLIN },
		};

		poll(fds, ARRAY_SIZE(fds), timeout_ms(s));
		if (fds[1].revents)
			hear_ready(s);
		take_signals(s);
		reap_pids(s);
		if (!s->ends)
			follow_clock(s);
		if (!is_over(s) && s->opts->control.fd >= 0)
			take_commands(s);
	}
	if (s->target.pid && s->open_ns != UINT64_MAX && !s->ends)
		msg__warn("the command has ended before the window opened: nothing is recorded");
	/* The target has ended, so the recorder takes the ring's last records and then ends. */
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
		msg__error("cannot receive signals: %s", strerror(errno));
		return STATUS_FAILED;
	}
	if (opts->mode == PROBES_RUN)
		status = start_target(&s);
	else
		status = opts->mode == PROBES_PID ? open_pids(&s) : 0;
	if (status)
		return status;
	if (opts->capture.after_ns != UINT64_MAX)
		s.open_ns = clock__now() + opts->capture.after_ns;
	supervise(&s);
	close(s.signal_fd);
	free(s.pid_fds);
	*wait_status = s.target.wait_status;
	return s.status;
}
