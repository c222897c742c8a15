// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * safefile - files in directories that other users may write to, and files opened with the
 * invoker's rights
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invoker.h"
#include "safefile.h"
#include "tap.h"

#define OTHER 65534			/* the id of another user */

/* ---- looking --------------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		bail("cannot write %s", path);
}

/* Return: the contents of the file, or "none"; valid until the next call. */
static const char *get(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		return "none";
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

/* Return: the mode of @path itself, with its file type; 0 if it does not exist. */
static unsigned int mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode;
}

static unsigned int owner_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? -1u : st.st_uid;
}

/* Return: how many files in the directory have a temporary name. */
static int nr_tmp(const char *dir)
{
	char command[128], line[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls -A %s | grep -c '\\.tmp$'", dir);
	f = popen(command, "r");
	if (!f || !fgets(line, sizeof(line), f))
		bail("cannot list %s", dir);
	pclose(f);
	return atoi(line);
}

/* Writes @text to @path. Return: 0, or the error of the step that failed. */
static int make(const char *path, const char *text, unsigned int flags)
{
	struct safefile f;
	int err = safefile__open(&f, AT_FDCWD, path, flags);

	if (err)
		return err;
	if (write(f.fd, text, strlen(text)) < 0)
		bail("cannot write");
	close(f.fd);
	err = safefile__commit(&f);
	safefile__close(&f);
	return err;
}

/*
 * Return: the result of @fn, which runs in a child process and may change its credentials for good.
 */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_making(void)
{
	struct safefile f;
	char name[256];

	umask(0);
	is_int(make("private", "a", SAFEFILE_PRIVATE), 0, "a private file is made");
	is_int(mode_of("private"), S_IFREG | 0600, "a private file has mode 0600 with umask 0");
	is_int(make("public", "a", 0), 0, "a public file is made");
	is_int(mode_of("public"), S_IFREG | 0666, "a public file has mode 0666 with umask 0");
	umask(027);
	is_int(make("public", "b", 0), 0, "a public file is replaced");
	is_int(mode_of("public"), S_IFREG | 0640, "a public file has mode 0640 with umask 027");
	is_int(make("private", "b", SAFEFILE_PRIVATE), 0, "a private file is replaced");
	is_int(mode_of("private"), S_IFREG | 0600, "a private file has mode 0600 with umask 027");
	umask(022);

	put("old", "old");
	is_int(link("old", "hard"), 0, "a hard link is made");
	is_int(safefile__open(&f, AT_FDCWD, "old", 0), 0, "a new file is begun");
	is_str(get("old"), "old", "the old file still exists");
	safefile__close(&f);
	close(f.fd);
	is_int(nr_tmp("."), 0, "an abandoned file leaves no temporary file");
	is_str(get("old"), "old", "an abandoned file leaves the old file unchanged");
	is_int(make("old", "new", 0), 0, "the new file is made");
	is_str(get("old"), "new", "the new file has the name");
	is_str(get("hard"), "old", "the file behind a hard link was not written to");

	is_int(make("no/such/directory", "a", 0), -ENOENT,
	       "a file in a missing directory is refused");
	is_int(make("", "a", 0), -ENOENT, "an empty name is refused");
	mkdir("dir", 0755);
	is_int(make("dir", "a", 0), -EISDIR, "a directory is not replaced");
	is_int(make("dir/", "a", 0), -EISDIR, "a directory named with a slash is not replaced");
	is_int(make("old/a", "a", 0), -ENOTDIR, "a file below a file is refused");
	memset(name, 'a', 255);
	name[255] = 0;
	is_int(make(name, "a", 0), 0, "a file with the longest name is made");
	is_str(get(name), "a", "a file with the longest name has its contents");

	is_int(safefile__stem("a.data"), 6, "the stem of a name is the name");
	is_int(safefile__stem("a.data.0123456789abcdef.tmp"), 6,
	       "the stem of a temporary name is the file's name");
	is_int(safefile__stem("a.data.0123456789abcdeF.tmp"), 27,
	       "a name with an upper-case digit is not temporary");
	is_int(safefile__stem(".0123456789abcdef.tmp"), 21,
	       "a name that is only a suffix is not temporary");
}

/* Begins a file, and kills its own process. */
static int killed_while_writing(void)
{
	struct safefile f;

	if (!safefile__open(&f, AT_FDCWD, "killed/new", 0) && write(f.fd, "half", 4) == 4)
		kill(getpid(), SIGKILL);
	return 1;
}

static void test_kill(void)
{
	int fd;

	mkdir("killed", 0755);
	fd = open("killed", O_WRONLY | O_TMPFILE, 0600);
	if (fd < 0)
		return skip(2, "this file system has no files without names");
	close(fd);
	is_int(in_child(killed_while_writing), 255, "a process is killed while it makes a file");
	is_int(rmdir("killed"), 0, "nothing remains of a file whose process was killed");
}

static void test_keeping(void)
{
	struct safefile f;

	put("k", "first");
	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a second recording is begun");
	is_int(safefile__keep_old(&f, ".old"), 1, "the first recording is kept");
	is_int(safefile__commit(&f), 0, "the second recording gets the name");
	is_str(get("k.old"), "first", "the first recording is now .old");
	is_str(get("k"), "", "the second recording has the name");
	close(f.fd);
	safefile__close(&f);

	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a third recording is begun");
	is_int(safefile__keep_old(&f, ".old"), 0, "the second recording was empty and is not kept");
	is_str(get("k.old"), "first", "the first recording is still .old");
	is_int(safefile__commit(&f), 0, "the third recording gets the name");
	is_int(mode_of("k"), S_IFREG | 0644, "the third recording has mode 0644");
	safefile__remove(&f);
	is_int(mode_of("k"), 0, "a file is removed by safefile__remove()");
	put("k", "another's");
	safefile__remove(&f);
	is_str(get("k"), "another's", "another file with that name is not removed");
	close(f.fd);
	safefile__close(&f);

	put("victim", "victim");
	unlink("k.old");
	is_int(symlink("victim", "k.old"), 0, "a link is put in the way of .old");
	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a new recording is begun");
	is_int(safefile__keep_old(&f, ".old"), 1, "the earlier recording is kept");
	is_str(get("victim"), "victim", "the target of the link is unchanged");
	is_int(mode_of("k.old"), S_IFREG | 0644, ".old has replaced the link");
	safefile__commit(&f);
	close(f.fd);
	safefile__close(&f);

	unlink("k.old");
	mkdir("k.old", 0755);
	put("k", "kept");
	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0,
	       "a recording is begun while .old is a directory");
	is_int(safefile__keep_old(&f, ".old"), -EISDIR, "the earlier recording cannot be kept");
	close(f.fd);
	safefile__close(&f);
	is_str(get("k"), "kept", "the earlier recording is unchanged");
	is_int(nr_tmp("."), 0, "nothing temporary is left");
}

static void test_links(void)
{
	char name[16], to[16];
	int i;

	mkdir("far", 0755);
	put("far/file", "far");
	put("far/victim", "victim");
	is_int(symlink("far/hop", "link") | symlink("file", "far/hop"), 0,
	       "links to far/file are made");
	is_int(make("link", "a", 0), -ELOOP, "no file is made through links");
	is_str(get("far/file"), "far", "the target of the links is unchanged");
	is_int(make("link", "a", SAFEFILE_LINKS), 0,
	       "with SAFEFILE_LINKS a file is made through links");
	is_str(get("far/file"), "a", "with SAFEFILE_LINKS the target of the last link is written");
	is_int(mode_of("link") & S_IFMT, S_IFLNK, "with SAFEFILE_LINKS the links stay");
	is_int(nr_tmp("far"), 0, "nothing temporary is left in the target's directory");
	is_int(symlink("far/new", "dangling"), 0, "a dangling link is made");
	is_int(make("dangling", "a", 0), -ELOOP, "no file is made through a dangling link");
	is_int(mode_of("far/new"), 0, "the target of a dangling link does not exist");
	is_int(make("dangling", "a", SAFEFILE_LINKS), 0,
	       "with SAFEFILE_LINKS a file is made through a dangling link");
	is_str(get("far/new"), "a", "with SAFEFILE_LINKS the target of a dangling link exists");
	is_int(symlink("far", "to_dir"), 0, "a link to a directory is made");
	is_int(make("to_dir", "a", SAFEFILE_LINKS), -EISDIR,
	       "a link to a directory is not replaced by a file");
	is_int(make("to_dir/below", "a", 0), 0, "a file is made below a link to a directory");
	is_str(get("far/below"), "a", "a file below a link is in the target directory");
	for (i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(to, sizeof(to), "chain%d", (i + 1) % 60);
		if (symlink(to, name))
			bail("cannot link");
	}
	is_int(make("chain0", "a", SAFEFILE_LINKS), -ELOOP,
	       "links that form a circle are refused");

	if (geteuid())
		return skip(1, "another user's link: not root");
	is_int(symlink("far/victim", "theirs"), 0, "a link for another user is made");
	is_int(lchown("theirs", OTHER, OTHER), 0, "another user owns the link to our file");
	is_int(make("theirs", "a", SAFEFILE_LINKS), -ELOOP, "another user's link is not followed");
	is_str(get("far/victim"), "victim", "the target of another user's link is unchanged");
	is_int(symlink("theirs", "ours"), 0, "a link of ours to another user's link is made");
	is_int(make("ours", "a", SAFEFILE_LINKS), -ELOOP,
	       "another user's link behind ours is not followed");
	unlink("theirs");
	is_int(symlink("/dev/null", "theirs") | lchown("theirs", OTHER, OTHER), 0,
	       "another user's link to a device is made");
	is_int(make("theirs", "a", SAFEFILE_LINKS), -ELOOP,
	       "another user's link to a device is not followed");
}

static void test_special(void)
{
	struct safefile f;
	char path[32], buf[8] = "";
	int reader, pipe_fds[2];

	is_int(mkfifo("fifo", 0600), 0, "a FIFO is made");
	is_int(make("fifo", "a", SAFEFILE_NO_WAIT), -ENXIO, "a FIFO without a reader is refused");
	reader = open("fifo", O_RDONLY | O_NONBLOCK);
	is_int(safefile__open(&f, AT_FDCWD, "fifo", SAFEFILE_NO_WAIT), 0,
	       "a FIFO with a reader is opened");
	is_int(fcntl(f.fd, F_GETFL) & O_NONBLOCK, 0, "a FIFO is opened to block");
	is_int(safefile__keep_old(&f, ".old"), 0, "a FIFO is not renamed");
	is_int(write(f.fd, "in", 2), 2, "a FIFO is written to");
	is_int(safefile__commit(&f), 0, "a FIFO is committed");
	safefile__remove(&f);
	close(f.fd);
	safefile__close(&f);
	is_int(read(reader, buf, sizeof(buf)), 2, "the reader of the FIFO reads the text");
	is_int(mode_of("fifo") & S_IFMT, S_IFIFO, "the FIFO still exists");
	close(reader);
	is_int(nr_tmp("."), 0, "nothing temporary is made for a FIFO");

	is_int(make("/dev/null", "a", 0), 0, "a device is written to");
	is_int(symlink("/dev/null", "null"), 0, "a link to a device is made");
	is_int(make("null", "a", 0), 0, "a device is written to through a link");
	is_int(mode_of("null") & S_IFMT, S_IFLNK, "the link to the device still exists");
	if (pipe(pipe_fds))
		bail("no pipe");
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[1]);
	is_int(make(path, "pipe", SAFEFILE_LINKS), 0,
	       "a descriptor is written to by its name in /dev/fd");
	is_int(read(pipe_fds[0], buf, sizeof(buf)), 4, "the pipe of the descriptor has the text");
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[0]);
	ok(make(path, "pipe", SAFEFILE_LINKS) < 0,
	   "the name of a descriptor for reading is refused");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pipe_fds))
		bail("no sockets");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe_fds[1]);
	is_int(symlink(path, "socket"), 0, "a link to a socket's descriptor is made");
	is_int(make("socket", "pipe", 0), 0, "a socket is written to through a link");
	is_int(read(pipe_fds[0], buf, sizeof(buf)), 4, "the socket has the text");
	reader = open("victim", O_WRONLY | O_APPEND);
	snprintf(path, sizeof(path), "/dev/fd/%d", reader);
	is_int(make(path, ", and more", 0), 0, "the descriptor of a file is written to");
	is_str(get("victim"), "victim, and more",
	       "the file of the descriptor has the text at its end");
}

static void test_dirs(void)
{
	int fd;

	umask(0);
	fd = safefile__open_dir(AT_FDCWD, "own", false);
	is_int(fd, -ENOENT, "a missing directory is an error");
	fd = safefile__open_dir(AT_FDCWD, "own", true);
	ok(fd >= 0, "a directory is made");
	is_int(mode_of("own"), S_IFDIR | 0700, "a private directory has mode 0700 with umask 0");
	close(fd);
	umask(022);
	fd = safefile__open_dir(AT_FDCWD, "own", true);
	ok(fd >= 0, "an existing directory is opened");
	close(fd);
	is_int(symlink("own", "own_link"), 0, "a link to a directory is made");
	is_int(safefile__open_dir(AT_FDCWD, "own_link", true), -ENOTDIR,
	       "a link to a directory is not opened as a directory");
	put("own_file", "");
	is_int(safefile__open_dir(AT_FDCWD, "own_file", true), -ENOTDIR,
	       "a file is not opened as a directory");
	if (geteuid())
		return skip(1, "another user's directory: not root");
	is_int(chown("own", OTHER, OTHER), 0, "a directory is given to another user");
	is_int(safefile__open_dir(AT_FDCWD, "own", true), -EPERM,
	       "another user's directory is refused");
}

/* ---- the invoker ----------------------------------------------------------------------------- */

static int find(const char *uid, const char *gid)
{
	const char *why = NULL;
	int err;

	unsetenv("SUDO_USER");
	uid ? setenv("SUDO_UID", uid, 1) : unsetenv("SUDO_UID");
	gid ? setenv("SUDO_GID", gid, 1) : unsetenv("SUDO_GID");
	err = invoker__find(&why);
	return err && !why ? -1 : err;
}

static void test_numbers(void)
{
	static const char *const wrong[] = {
		"x", "-1", "+5", " 5", "5 ", "5x", "0x5", "4294967295", "4294967296",
		"18446744073709551617", "99999999999999999999999999999999",
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		is_int(find(wrong[i], "5"), -EINVAL, "SUDO_UID='%s' is refused", wrong[i]);
		is_int(find("5", wrong[i]), -EINVAL, "SUDO_GID='%s' is refused", wrong[i]);
		ok(!invoker__is_other(), "after a refusal there is no other invoker");
	}
	is_int(find("5", NULL), -EINVAL, "a missing SUDO_GID is refused");
	is_int(find("5", ""), -EINVAL, "an empty SUDO_GID is refused");
	is_int(find(NULL, "5"), 0, "without SUDO_UID root is the invoker");
	is_int(find("", ""), 0, "with an empty SUDO_UID root is the invoker");
	is_int(find("0", "0"), 0, "root who called sudo is the invoker");
	ok(!invoker__is_other(), "if root is the invoker, there is no other user");
	is_int(invoker__uid(), 0, "files belong to root");
}

/* Gets this thread's ids, groups and capabilities as text. */
static void get_status(char *buf, size_t size)
{
	FILE *f = fopen("/proc/thread-self/status", "r");
	char line[4096];
	size_t n = 0;

	buf[0] = 0;
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Uid:", 4) || !strncmp(line, "Gid:", 4) ||
		    !strncmp(line, "Groups:", 7) || !strncmp(line, "Cap", 3))
			n += snprintf(buf + n, size - n, "%s", line);
	if (f)
		fclose(f);
}

static uint64_t file_caps(void)
{
	const uint64_t caps = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE |
		1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_FOWNER | 1ull << CAP_FSETID |
		1ull << CAP_MKNOD | 1ull << CAP_SYS_RESOURCE;
	char status[8192];
	const char *p;

	get_status(status, sizeof(status));
	p = strstr(status, "CapEff:");
	return p ? strtoull(p + 7, NULL, 16) & caps : ~0ull;
}

static char other_status[8192];

static void *look_thread(void *arg)
{
	get_status(other_status, sizeof(other_status));
	return arg;
}

static void test_entering(void)
{
	static char before[8192], inside[8192], after[8192];
	char *line;
	pthread_t t;

	get_status(before, sizeof(before));
	is_int(invoker__enter(), 0, "the invoker's rights are entered");
	is_int(invoker__enter(), 0, "the invoker's rights are entered a second time");
	invoker__leave();
	get_status(inside, sizeof(inside));
	line = strstr(inside, "Uid:");
	is_str(strtok(line, "\n"), "Uid:\t0\t0\t0\t65534",
	       "files are accessed with the invoker's user id");
	line = strstr(line + strlen(line) + 1, "Gid:");
	is_str(strtok(line, "\n"), "Gid:\t0\t0\t0\t65534",
	       "files are accessed with the invoker's group id");
	line = strstr(line + strlen(line) + 1, "Groups:");
	is_str(strtok(line, "\n"), "Groups:\t65534 ", "the thread is in no group of root");
	is_int(file_caps(), 0, "the thread has no capabilities over files");
	if (pthread_create(&t, NULL, look_thread, NULL))
		bail("no thread");
	pthread_join(t, NULL);
	invoker__leave();
	get_status(after, sizeof(after));
	is_str(after, before, "after leaving, the ids are as before");
	ok(file_caps() != 0, "after leaving, the capabilities over files are back");
}

static int enter_without_fixup(void)
{
	struct stat st;

	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP))
		return 10;
	if (!file_caps() || invoker__enter())
		return 11;
	if (file_caps())
		return 12;
	if (!stat("closed/file", &st))
		return 13;
	invoker__leave();
	return file_caps() && !stat("closed/file", &st) ? 0 : 14;
}

/* Drops capability @cap from this thread. */
static int drop_cap(int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps))
		return -1;
	caps[cap / 32].effective &= ~(1u << cap % 32);
	caps[cap / 32].permitted &= ~(1u << cap % 32);
	return syscall(SYS_capset, &header, caps);
}

static int enter_without_setuid(void)
{
	static char before[8192], after[8192];

	if (drop_cap(CAP_SETUID))
		return 10;
	get_status(before, sizeof(before));
	if (invoker__enter() != -EPERM || make("open/refused", "a", 0) != -EPERM)
		return 11;
	get_status(after, sizeof(after));
	return strcmp(before, after) ? 12 : mode_of("open/refused") ? 13 : 0;
}

static int enter_without_setgid(void)
{
	return drop_cap(CAP_SETGID) ? 10 : invoker__enter() == -EPERM ? 0 : 11;
}

/* Looks for the invoker as a set-user-ID program would. */
static int find_set_user_id(void)
{
	gid_t group = 7;

	if (setgroups(1, &group) || setresgid(9, 9, 9) || setresuid(OTHER, 0, 0))
		return 10;
	if (find("1", "1") || !invoker__is_other() || invoker__uid() != OTHER)
		return 11;
	if (make("open/set-user-id", "a", 0) || owner_of("open/set-user-id") != OTHER)
		return 12;
	if (make("closed/set-user-id", "a", 0) != -EACCES)
		return 13;
	if (invoker__become() || geteuid() != OTHER || !setuid(0) || !seteuid(0))
		return 14;
	return 0;
}

static int become(void)
{
	gid_t groups[4] = { 0 };
	uid_t r, e, s;

	if (invoker__become() || getresuid(&r, &e, &s) || r != OTHER || e != OTHER || s != OTHER)
		return 10;
	if (getresgid(&r, &e, &s) || r != OTHER || e != OTHER || s != OTHER)
		return 11;
	if (getgroups(4, groups) != 1 || groups[0] != OTHER)
		return 12;
	return setuid(0) && setgid(0) && file_caps() == 0 ? 0 : 13;
}

static int become_unlisted(void)
{
	gid_t groups[4] = { 0 };

	if (find("54321", "54322") || invoker__become())
		return 10;
	return getgroups(4, groups) == 1 && groups[0] == 54322 && getuid() == 54321 &&
	       getgid() == 54322 ? 0 : 11;
}

static int not_root(void)
{
	if (setresgid(OTHER, OTHER, OTHER) || setresuid(OTHER, OTHER, OTHER))
		return 10;
	return find("5", "x") || invoker__is_other() || invoker__uid() != OTHER ? 11 : 0;
}

static void test_invoker(void)
{
	struct safefile f;
	int fd;

	if (geteuid() || getuid())
		return skip(1, "files of who called sudo: not root");
	test_numbers();
	is_int(in_child(not_root), 0, "a user who is not root is the invoker");
	is_int(in_child(become_unlisted), 0, "a user without a name has one group");

	/*
	 * Directories of the user who calls sudo: open/ is writable; closed/ cannot even be
	 * entered.
	 */
	if (mkdir("open", 0777) || chmod("open", 0777) || mkdir("closed", 0700) ||
	    mkdir("sticky", 0777) || chmod("sticky", 01777) || chmod(".", 0755))
		bail("no directories");
	put("closed/file", "root's");
	put("open/file", "root's");
	put("sticky/file", "root's");
	chmod("open/file", 0600);
	chmod("sticky/file", 0666);
	is_int(in_child(find_set_user_id), 0,
	       "set-user-ID: the caller is the invoker, whatever SUDO_UID says");
	is_int(find("65534", "65534"), 0, "sudo's caller is found");
	ok(invoker__is_other() && invoker__uid() == OTHER, "sudo's caller is the invoker");
	test_entering();
	ok(!strstr(other_status, "65534\t65534"), "a thread that starts meanwhile has its own ids");
	is_int(in_child(enter_without_fixup), 0,
	       "the invoker has no capabilities over files, even with securebits that keep them");
	is_int(in_child(enter_without_setuid), 0,
	       "without the right to change the user id nothing is made");
	is_int(in_child(enter_without_setgid), 0,
	       "without the right to change groups nothing is made");
	is_int(in_child(become), 0, "invoker__become() leaves no rights of root");

	is_int(make("open/new", "a", SAFEFILE_PRIVATE), 0, "a file is made where the invoker may");
	is_int(owner_of("open/new"), OTHER, "the file belongs to the invoker");
	is_int(make("new", "a", 0), -EACCES, "no file is made where only root may");
	is_int(make("closed/new", "a", 0), -EACCES,
	       "no file is made in a directory that the invoker cannot enter");
	is_int(symlink("../closed", "open/dir"), 0, "a link takes the directory's place");
	is_int(make("open/dir/file", "a", 0), -EACCES,
	       "no file is made through a link to a closed directory");
	fd = safefile__open_parent("open/dir/file");
	is_int(safefile__unlink(fd, "file", 0), -EACCES,
	       "no file is removed through a closed directory's descriptor");
	close(fd);
	is_int(symlink("../closed/file", "open/link"), 0, "a link to root's file is made");
	is_int(make("open/link", "a", SAFEFILE_LINKS), -EACCES,
	       "no file is made through a link to root's file");
	is_str(get("closed/file"), "root's", "root's file behind the link is unchanged");
	is_int(link("closed/file", "open/hard"), 0, "a hard link to root's file is made");
	is_int(make("open/hard", "a", 0), 0, "a hard link to root's file is replaced");
	is_str(get("closed/file"), "root's", "root's file behind the hard link is unchanged");
	is_int(owner_of("closed/file"), 0,
	       "root's file behind the hard link still belongs to root");
	is_int(make("open/file", "a", 0), 0, "root's file in the invoker's directory is replaced");
	is_int(owner_of("open/file"), OTHER, "the new file belongs to the invoker");
	is_int(make("sticky/file", "a", 0), -EPERM,
	       "root's file in a sticky directory is not replaced");
	is_str(get("sticky/file"), "root's", "root's file in a sticky directory is unchanged");
	is_int(nr_tmp("sticky"), 0, "nothing temporary is left in the sticky directory");
	is_int(safefile__open(&f, AT_FDCWD, "sticky/file", 0), 0,
	       "a file next to root's file is begun");
	is_int(safefile__keep_old(&f, ".old"), -EPERM, "root's file cannot be renamed to .old");
	close(f.fd);
	safefile__close(&f);
	mkfifo("closed/fifo", 0666);
	is_int(make("closed/fifo", "a", SAFEFILE_NO_WAIT), -EACCES,
	       "root's FIFO is not written to");
	fd = safefile__open_dir(AT_FDCWD, "open", false);
	is_int(fd, -EPERM, "root's directory is refused");
	fd = safefile__open_dir(AT_FDCWD, "open/kept", true);
	ok(fd >= 0 && owner_of("open/kept") == OTHER, "a new directory belongs to the invoker");
	is_int(safefile__rename(AT_FDCWD, "closed/file", "open/moved"), -EACCES,
	       "root's file cannot be renamed");
	is_int(safefile__unlink(AT_FDCWD, "closed/file", 0), -EACCES,
	       "root's file cannot be removed");
	is_int(safefile__unlink(AT_FDCWD, "open/dir/file", 0), -EACCES,
	       "root's file cannot be removed through a link");
	is_str(get("closed/file"), "root's", "root's file is unchanged after all attempts");
}

int main(void)
{
	test_making();
	test_kill();
	test_keeping();
	test_links();
	test_special();
	test_dirs();
	test_invoker();
	return done_testing();
}
