// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * This is the command "top", which shows a recording while it is made. "xpuload top" runs it as a
 * child and pipes the recording to its standard input. Marks in the recording show where each
 * second ends (stream/split.h).
 */
#include "top.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#include "cmdline.h"
#include "complain.h"
#include "safefile.h"
#include "stream/split.h"
#include "top_frame.h"
#include "util.h"
#include "version.h"
#include "write/terminal.h"

#define EXIT_BAD	2

struct options {
	bool batch;
	uint32_t frames;		/* how many frames to show; 0: no limit */
};

struct top {
	struct options opts;
	pthread_mutex_t lock;		/* guards the members below, because another thread reads
					 * keys */
	struct top_frames frames;
	struct top_look look;
	uint64_t nr_shown;
	int place_fd, dir_fd;		/* dir_fd: the directory of the files; place_fd: its parent
					 * directory */
	char dir[64];			/* path of dir_fd */
};

/* ---- the terminal ---------------------------------------------------------------------------- */

static struct termios old_termios;
static volatile sig_atomic_t is_raw;

/* Restores the terminal. Signal handlers may call it, too. */
static void terminal__restore(void)
{
	static const char leave[] = "\033[?7h\033[?25h\033[?1049l";
	ssize_t written;

	if (!is_raw)
		return;
	is_raw = 0;
	written = write(STDOUT_FILENO, leave, sizeof(leave) - 1);
	(void)written;
	tcsetattr(STDOUT_FILENO, TCSANOW, &old_termios);
}

static void on_fatal(int sig)
{
	terminal__restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void on_resize(int sig)
{
	(void)sig;			/* the signal only has to interrupt poll() */
}

/*
 * Switches to the alternate screen, without a cursor and without wrapping lines; keys are read
 * without waiting for Enter, and not echoed. Ctrl-C still works.
 */
static int terminal__take(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE };
	struct sigaction resize = { .sa_handler = on_resize };
	struct termios raw;
	size_t i;

	if (tcgetattr(STDOUT_FILENO, &old_termios))
		return -errno;
	raw = old_termios;
	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDOUT_FILENO, TCSANOW, &raw))
		return -errno;
	is_raw = 1;
	atexit(terminal__restore);
	for (i = 0; i < ARRAY_SIZE(fatal); i++)
		signal(fatal[i], on_fatal);
	sigaction(SIGWINCH, &resize, NULL);
	fputs("\033[?1049h\033[?25l\033[?7l\033[2J", stdout);
	fflush(stdout);
	return 0;
}

/* Writes a frame over the previous frame; each line erases the rest of the old line. */
static void screen__write(const char *text, unsigned int height)
{
	const char *end;
	unsigned int line;

	fputs("\033[H", stdout);
	for (line = 0; *text && line < height; line++, text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		fprintf(stdout, "%s%.*s\033[K", line ? "\r\n" : "", (int)(end - text), text);
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

#define KEYS	"keys: t time, n count, a average; k kernels, c call paths, b both; p pause, q quit"
#define LEAST_HEIGHT	10		/* smaller terminals have no room for the keys */

static void top__draw(struct top *t)
{
	struct winsize size;
	char *text = NULL;
	size_t bytes;
	FILE *f;

	if (t->opts.batch) {
		t->look.width = terminal__width();
		top_frame__print(&t->frames.frame, &t->look, stdout);
		fputc('\n', stdout);
		fflush(stdout);
		return;
	}
	t->look.width = 80;
	t->look.height = 24;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row) {
		t->look.width = size.ws_col;
		t->look.height = size.ws_row;
	}
	f = open_memstream(&text, &bytes);
	if (!f)
		return;
	if (t->look.height >= LEAST_HEIGHT)
		t->look.height--;
	if (t->frames.frame.nr)
		top_frame__print(&t->frames.frame, &t->look, f);
	else
		fputs("waits for the first second\n", f);
	if (t->look.height >= LEAST_HEIGHT - 1)
		fprintf(f, "%.*s\n", (int)t->look.width, KEYS);
	if (!fclose(f) && text)
		screen__write(text, t->look.height + 1);
	free(text);
}

/* Removes the directory, including a file that may be half written. */
static void top__remove_dir(const struct top *t)
{
	DIR *dir = opendir(t->dir);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			safefile__unlink(t->dir_fd, d->d_name, 0);
	if (dir)
		closedir(dir);
	safefile__unlink(t->place_fd, safefile__name(t->dir), AT_REMOVEDIR);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Removes the files, and ends the process: xpuload sees that the pipe is closed, and detaches. */
static _Noreturn void top__quit(struct top *t, int status)
{
	terminal__restore();
	top__remove_dir(t);
	exit(status);
}

static void top__key(struct top *t, char key)
{
	switch (key) {
	case 'q':
		top__quit(t, 0);
	case 't':
		t->look.order = TOP_BY_TIME;
		break;
	case 'n':
		t->look.order = TOP_BY_COUNT;
		break;
	case 'a':
		t->look.order = TOP_BY_AVERAGE;
		break;
	case 'k':
		t->look.work = true;
		t->look.paths = false;
		break;
	case 'c':
		t->look.work = false;
		t->look.paths = true;
		break;
	case 'b':
		t->look.work = t->look.paths = true;
		break;
	case 'p':
		t->look.paused = !t->look.paused;
		break;
	}
}

static void *keys_thread(void *arg)
{
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLIN };
	struct top *t = arg;
	char key;

	for (;;) {
		int nr = poll(&fd, 1, -1);

		if (nr > 0 && read(STDOUT_FILENO, &key, 1) != 1)
			return NULL;
		pthread_mutex_lock(&t->lock);
		if (nr > 0)
			top__key(t, key);
		top__draw(t);
		pthread_mutex_unlock(&t->lock);
	}
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Called when the file of an interval is complete: shows it. */
static void on_whole(void *ctx, char *name, uint64_t start_ns, uint64_t duration_ns,
		     uint64_t *waits)
{
	struct top *t = ctx;

	(void)start_ns;
	(void)waits;
	pthread_mutex_lock(&t->lock);
	if (!t->look.paused && duration_ns &&
	    !top_frames__add(&t->frames, name, duration_ns / 1e9)) {
		t->nr_shown++;
		top__draw(t);
	}
	pthread_mutex_unlock(&t->lock);
	safefile__unlink(t->dir_fd, safefile__name(name), 0);
	free(name);
	if (t->opts.frames && t->nr_shown >= t->opts.frames)
		top__quit(t, 0);
}

/* Makes a directory for the files, in memory if possible. Return: 0 or a negative errno. */
static int top__make_dir(struct top *t)
{
	static const char *const places[] = { "/dev/shm", "/tmp" };
	uint32_t number;
	size_t i;

	t->dir_fd = -EIO;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	for (i = 0; i < ARRAY_SIZE(places) && t->dir_fd < 0; i++) {
		snprintf(t->dir, sizeof(t->dir), "%s/xpuload-top.%08" PRIx32, places[i], number);
		t->place_fd = safefile__open_parent(t->dir);
		if (t->place_fd >= 0)
			t->dir_fd = safefile__open_dir(t->place_fd, safefile__name(t->dir), true);
		if (t->place_fd >= 0 && t->dir_fd < 0)
			close(t->place_fd);
	}
	return min_t(int, t->dir_fd, 0);
}

static int top__run(struct top *t)
{
	char pattern[sizeof(t->dir) + 16];
	struct split_opts opts = { .pattern = pattern, .whole = on_whole, .ctx = t,
				   .journal_fd = -1 };
	const char *what = "standard input";
	struct split_result result;
	bool reading = false;
	pthread_t thread;
	int err = top__make_dir(t);

	if (err) {
		complain("cannot make a directory in /dev/shm or /tmp: %s", strerror(-err));
		return EXIT_BAD;
	}
	if (!t->opts.batch)
		err = terminal__take() ?: -pthread_create(&thread, NULL, keys_thread, t);
	if (err) {
		what = "terminal";
		snprintf(result.what, sizeof(result.what), "%s", strerror(-err));
	} else {
		snprintf(pattern, sizeof(pattern), "%s/%%n.data", t->dir);
		reading = true;
		err = split__run(STDIN_FILENO, &opts, &result);
	}
	terminal__restore();
	top__remove_dir(t);
	if (err)
		complain("%s: %s%s", what, result.what,
			 reading && !t->frames.readers.nr ?
			 ": xpuload top makes one, and runs this command" : "");
	return err ? EXIT_BAD : 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct cmdline_option rows[] = {
	{ "batch", CMDLINE_FLAG(batch),
	  .help = "print frames one after another, without a terminal" },
	{ "frames", 'n', "N", CMDLINE_NUMBER(frames, 1, UINT32_MAX),
	  .help = "stop after N frames" },
	{ "version", 'V', .set = cmdline__version, .help = "print the version" },
	{ "help", 'h', .set = cmdline__help, .help = "print this" },
};

static void complain_invalid(const struct cmdline_option *option, const char *arg)
{
	complain("--%s %s: expected a number of at least %" PRIu32, option->name, arg, option->min);
}

static const struct cmdline cmdline = {
	.version = "xpumerge " XPU_VERSION,
	.usage = "usage: xpumerge top [OPTION...]\n"
		 "Shows the recording at standard input while it is made. See xpuload top.\n\n",
	.footer = "",
	.column = 25, .columns = 97,
	.options = rows,
	.nr_options = ARRAY_SIZE(rows),
	.error = complain,
	.invalid = complain_invalid,
};

int top_command(int argc, char **argv)
{
	static struct top t = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .look = { .work = true, .paths = true },
	};
	int err = cmdline__parse(&cmdline, &t.opts, argc, argv, NULL);

	if (err)
		return err > 0 ? 0 : EXIT_BAD;
	if (optind < argc) {
		complain("top shows the recording at standard input, and takes no file");
		return EXIT_BAD;
	}
	t.opts.batch |= !terminal__has_codes();
	t.look.color = !t.opts.batch && terminal__has_color();
	top_frames__init(&t.frames);
	err = top__run(&t);
	top_frames__exit(&t.frames);
	return err;
}
