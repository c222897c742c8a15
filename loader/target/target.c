// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/caps.h"
#include "base/host_clock.h"
#include "attach/probes.h"
#include "target/witness.h"
#include "xpu_slot.h"
#include "xpu_time.h"

#define DEFAULT_PATH	"/bin:/usr/bin"	/* the PATH that execvp() uses if PATH is unset */
#define RELAY_WAIT_NS	20000000	/* how long a signal may need to reach the target */
#define RELAY_SAME_NS	500000000	/* one sender's signals within this time count as one
					 * signal */

extern char **environ;

static sigset_t original_mask;
static struct rlimit original_files;
static char *kept_env;			/* a copy of /proc/self/environ, with a NUL added */
static size_t kept_bytes;

/*
 * The kernel's struct sigaction. glibc hides the two signals that it uses itself, and changes the
 * action of one of them when the first thread is made.
 */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static struct kernel_action original_actions[NSIG];

static int kernel_sigaction(int sig, const struct kernel_action *new, struct kernel_action *old)
{
	return syscall(SYS_rt_sigaction, sig, new, old, sizeof(uint64_t));
}

/*
 * Reads the environment that the user gave us. If our file has capabilities, the dynamic loader has
 * removed LD_LIBRARY_PATH and similar variables. The target runs without capabilities, and gets the
 * user's whole environment. We can read /proc/self only while our user can read our memory, so this
 * is done early, while our memory holds no secrets.
 */
static void keep_environment(void)
{
	size_t cap = 0;
	char *more;
	ssize_t n = 1;
	int fd;

	if (!caps__from_file())
		return;
	prctl(PR_SET_DUMPABLE, 1);
	fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0) {
		if (cap - kept_bytes < 4096) {
			cap = cap * 2 + 65536;
			more = realloc(kept_env, cap);
			if (!more)
				break;
			kept_env = more;
		}
		n = read(fd, kept_env + kept_bytes, cap - kept_bytes - 1);
		if (n > 0)
			kept_bytes += n;
	}
	if (kept_env)
		kept_env[kept_bytes] = '\0';
	if (fd >= 0)
		close(fd);
	prctl(PR_SET_DUMPABLE, 0);
}

void target__init(void)
{
	int sig, fd;

	/* If stdin, stdout or stderr is closed, none of our files may get its descriptor number. */
	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
	keep_environment();
	/* xpuload needs some descriptors for each CPU, and many for mapped files. */
	if (!getrlimit(RLIMIT_NOFILE, &original_files))
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){ original_files.rlim_max,
							   original_files.rlim_max });
	sigprocmask(SIG_SETMASK, NULL, &original_mask);
	for (sig = 1; sig < NSIG; sig++)
		kernel_sigaction(sig, NULL, &original_actions[sig]);
}

void target__restore(void)
{
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		if (original_actions[sig].handler == SIG_IGN ||
		    original_actions[sig].handler == SIG_DFL)
			kernel_sigaction(sig, &original_actions[sig], NULL);
	setrlimit(RLIMIT_NOFILE, &original_files);
	sigprocmask(SIG_SETMASK, &original_mask, NULL);
}

/* Checks a path. Return: 0 if @path is an executable program, or a negative errno. */
static int find_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

int target__find(const char *name)
{
	const char *path = getenv("PATH") ?: DEFAULT_PATH, *end;
	char file[PATH_MAX];
	int err = -ENOENT;

	if (strchr(name, '/'))
		return find_program(name);
	for (; path && name[0]; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		snprintf(file, sizeof(file), "%.*s/%s", end > path ? (int)(end - path) : 1,
			 end > path ? path : ".", name);
		switch (find_program(file)) {
		case 0:
			return 0;
		case -EACCES:
			err = -EACCES;
		}
	}
	return err;
}

/* Restores the environment that keep_environment() has read. */
static void restore_environment(void)
{
	char *line, *end = kept_env + kept_bytes, *eq;

	for (line = kept_env; line < end; line += strlen(line) + 1) {
		eq = strchr(line, '=');
		if (!eq)
			continue;
		*eq = '\0';
		if (!getenv(line))
			setenv(line, eq + 1, 1);
		*eq = '=';
	}
}

/*
 * Sets XPU_INJECTION_ENV. The shim sets it, too, but its constructor runs after the constructors of
 * the target's own libraries, which may use CUDA.
 */
static int set_injection(const char *shim)
{
	const char *users = getenv(XPU_INJECTION_ENV);

	if (users && users[0] && strcmp(users, shim) && setenv(XPU_CHAIN_ENV, users, 1))
		return -errno;
	return setenv(XPU_INJECTION_ENV, shim, 1) ? -errno : 0;
}

/*
 * Sets an option of AddressSanitizer, which otherwise ends a program if another library is loaded
 * before the sanitizer's library. Programs without AddressSanitizer ignore the option.
 */
static int allow_preload(void)
{
	static const char allow[] = "verify_asan_link_order=0";
	const char *users = getenv("ASAN_OPTIONS");
	char *value;
	int err;

	if (asprintf(&value, "%s%s%s", allow, users && users[0] ? ":" : "", users ? users : "") < 0)
		return -ENOMEM;
	err = setenv("ASAN_OPTIONS", value, 1) ? -errno : 0;
	free(value);
	return err;
}

static int set_preload(const char *shim, bool waits)
{
	const char *users = getenv("LD_PRELOAD");
	char *value;
	int err;

	if (waits ? unsetenv(XPU_RUN_ENV) : setenv(XPU_RUN_ENV, "1", 1))
		return -errno;
	err = set_injection(shim);
	err = err ?: allow_preload();
	if (err)
		return err;
	if (!users || !users[0])
		return setenv("LD_PRELOAD", shim, 1) ? -errno : 0;
	if (asprintf(&value, "%s:%s", shim, users) < 0)
		return -ENOMEM;
	err = setenv("LD_PRELOAD", value, 1) ? -errno : 0;
	free(value);
	return err;
}

/* Runs in the child. Waits for target__exec(), then becomes the target. */
static _Noreturn void run_child(int go_fd, int error_fd, char *const argv[],
				 const char *shim, bool waits)
{
	char go;
	int err;

	if (read(go_fd, &go, 1) != 1)
		_exit(125);		/* xpuload has died */
	restore_environment();
	err = shim ? set_preload(shim, waits) : 0;
	target__restore();
	if (!err) {
		execvp(argv[0], argv);
		err = -errno;
	}
	if (write(error_fd, &err, sizeof(err)) != sizeof(err))
		_exit(125);
	_exit(127);
}

int target__fork(struct target *t, char *const argv[], const char *shim)
{
	int go[2] = { -1, -1 }, error[2] = { -1, -1 }, err;

	if (pipe2(go, O_CLOEXEC) || pipe2(error, O_CLOEXEC)) {
		err = -errno;
		goto close_pipes;
	}
	fflush(NULL);
	t->pid = fork();
	if (t->pid < 0) {
		err = -errno;
		goto close_pipes;
	}
	if (!t->pid) {
		close(go[1]);
		close(error[0]);
		run_child(go[0], error[1], argv, shim, t->waits);
	}
	close(go[0]);
	close(error[1]);
	t->go_fd = go[1];
	t->error_fd = error[0];
	return 0;

close_pipes:
	close(go[0]);
	close(go[1]);
	close(error[0]);
	close(error[1]);
	return err;
}

int target__exec(struct target *t)
{
	ssize_t n;
	int err;

	if (write(t->go_fd, "g", 1) != 1)
		return -errno;
	close(t->go_fd);
	do {
		n = read(t->error_fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close(t->error_fd);
	if (n != sizeof(err))
		return 0;		/* the exec succeeded, and closed the pipe */
	waitpid(t->pid, NULL, 0);
	return err;
}

void target__reap(struct target *t)
{
	if (!t->exited && waitpid(t->pid, &t->wait_status, WNOHANG) == t->pid)
		t->exited = true;
}

void target__signal(struct target *t, int sig, int code, pid_t sender_pid)
{
	/* Signals from the kernel, such as for Ctrl-C on the terminal, go to the whole group. */
	if (code > 0 || sig < 1 || sig >= NSIG)
		return;
	t->relays[sig].pending = true;
	t->relays[sig].sender_pid = sender_pid;
	t->relays[sig].time_ns = clock__now();
}

bool target__relay(struct target *t, const struct probes *p, struct witness *w)
{
	uint64_t now = clock__now(), age;
	struct xpu_signal seen = { 0 };
	bool undecided = false;
	int sig;

	for (sig = 1; sig < NSIG && sig < XPU_SIGNALS; sig++) {
		if (!t->relays[sig].pending)
			continue;
		if (p)
			probes__signal(p, sig, &seen);
		else if (w)
			witness__signal(w, sig, &seen);
		age = xpu_ns_apart(seen.time_ns, t->relays[sig].time_ns);
		if (seen.nr && (pid_t)seen.sender_pid == t->relays[sig].sender_pid &&
		    age < RELAY_SAME_NS) {
			t->relays[sig].pending = false;	/* the target got the signal */
		} else if (now - t->relays[sig].time_ns >= RELAY_WAIT_NS) {
			t->relays[sig].pending = false;
			if (!t->exited)
				kill(t->pid, sig);
		} else {
			undecided = true;
		}
	}
	return undecided;
}

void target__exit_like(int wait_status)
{
	struct rlimit no_core = { 0, 0 };
	int sig;

	fflush(NULL);
	if (WIFEXITED(wait_status))
		_exit(WEXITSTATUS(wait_status));
	sig = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE, &no_core);	/* only the target may dump core */
	target__restore();
	signal(sig, SIG_DFL);		/* xpuload may have started with this signal ignored */
	kill(getpid(), sig);
	_exit(128 + sig);
}
