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

/* Return: the contents of the file, or "none". Valid until the next call. */
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

/* Return: the mode of @path itself, with its type, or 0. */
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

/* Makes @path hold @text. Return: 0, or the error of whichever step failed. */
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
	is_int(make("private", "a", SAFEFILE_PRIVATE), 0, "a file is made");
	is_int(mode_of("private"), S_IFREG | 0600, "for nobody else, umask 0");
	is_int(make("public", "a", 0), 0, "and one for all");
	is_int(mode_of("public"), S_IFREG | 0666, "umask 0");
	umask(027);
	is_int(make("public", "b", 0), 0, "it is replaced");
	is_int(mode_of("public"), S_IFREG | 0640, "umask 027");
	is_int(make("private", "b", SAFEFILE_PRIVATE), 0, "so is the other");
	is_int(mode_of("private"), S_IFREG | 0600, "umask 027");
	umask(022);

	put("old", "old");
	is_int(link("old", "hard"), 0, "a hard link");
	is_int(safefile__open(&f, AT_FDCWD, "old", 0), 0, "a file is begun");
	is_int(nr_tmp("."), 1, "with a temporary name");
	is_str(get("old"), "old", "the older one is there still");
	safefile__close(&f);
	close(f.fd);
	is_int(nr_tmp("."), 0, "given up: nothing is left");
	is_str(get("old"), "old", "but the older one");
	is_int(make("old", "new", 0), 0, "the file is made after all");
	is_str(get("old"), "new", "it has its name");
	is_str(get("hard"), "old", "what a hard link leads to was not written to");

	is_int(make("no/such/directory", "a", 0), -ENOENT, "in no directory");
	is_int(make("", "a", 0), -ENOENT, "no name");
	mkdir("dir", 0755);
	is_int(make("dir", "a", 0), -EISDIR, "in the place of a directory");
	is_int(make("dir/", "a", 0), -EISDIR, "the same with a slash");
	is_int(make("old/a", "a", 0), -ENOTDIR, "below a file");
	memset(name, 'a', 255);
	name[255] = 0;
	is_int(make(name, "a", 0), 0, "the longest name");
	is_str(get(name), "a", "is a name like others");

	is_int(safefile__stem("a.data"), 6, "a name");
	is_int(safefile__stem("a.data.0123456789abcdef.tmp"), 6, "a temporary one");
	is_int(safefile__stem("a.data.0123456789abcdeF.tmp"), 27, "none, by its digits");
	is_int(safefile__stem(".0123456789abcdef.tmp"), 21, "none, by its length");
}

static void test_keeping(void)
{
	struct safefile f;

	put("k", "first");
	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a second recording");
	is_int(safefile__keep_old(&f, ".old"), 1, "the first one is kept");
	is_int(safefile__commit(&f), 0, "the second one has its name");
	is_str(get("k.old"), "first", "the first one is .old");
	is_str(get("k"), "", "the second one is new");
	close(f.fd);
	safefile__close(&f);

	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a third one");
	is_int(safefile__keep_old(&f, ".old"), 0, "the second one was empty");
	is_str(get("k.old"), "first", "so the first one is kept still");
	is_int(safefile__commit(&f), 0, "and the third one has its name");
	is_int(mode_of("k"), S_IFREG | 0644, "and mode");
	safefile__remove(&f);
	is_int(mode_of("k"), 0, "it is removed");
	put("k", "another's");
	safefile__remove(&f);
	is_str(get("k"), "another's", "but nothing else that has its name");
	close(f.fd);
	safefile__close(&f);

	put("victim", "victim");
	unlink("k.old");
	is_int(symlink("victim", "k.old"), 0, "a link is in the way of .old");
	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a recording");
	is_int(safefile__keep_old(&f, ".old"), 1, "the one before is kept");
	is_str(get("victim"), "victim", "what the link led to is as it was");
	is_int(mode_of("k.old"), S_IFREG | 0644, "in the place of the link");
	safefile__commit(&f);
	close(f.fd);
	safefile__close(&f);

	unlink("k.old");
	mkdir("k.old", 0755);
	put("k", "kept");
	is_int(safefile__open(&f, AT_FDCWD, "k", 0), 0, "a directory is in the way of .old");
	is_int(safefile__keep_old(&f, ".old"), -EISDIR, "the one before cannot be kept");
	close(f.fd);
	safefile__close(&f);
	is_str(get("k"), "kept", "and is as it was");
	is_int(nr_tmp("."), 0, "nothing temporary is left");
}

static void test_links(void)
{
	char name[16], to[16];
	int i;

	mkdir("far", 0755);
	put("far/file", "far");
	put("far/victim", "victim");
	is_int(symlink("far/hop", "link") | symlink("file", "far/hop"), 0, "links to far/file");
	is_int(make("link", "a", 0), -ELOOP, "no file is made through them");
	is_str(get("far/file"), "far", "nor written to");
	is_int(make("link", "a", SAFEFILE_LINKS), 0, "unless that is wanted");
	is_str(get("far/file"), "a", "then the last one's");
	is_int(mode_of("link") & S_IFMT, S_IFLNK, "and the links stay");
	is_int(nr_tmp("far"), 0, "nothing temporary is left there");
	is_int(symlink("far/new", "dangling"), 0, "a link to nothing");
	is_int(make("dangling", "a", 0), -ELOOP, "makes nothing");
	is_int(mode_of("far/new"), 0, "there");
	is_int(make("dangling", "a", SAFEFILE_LINKS), 0, "unless that is wanted");
	is_str(get("far/new"), "a", "there");
	is_int(symlink("far", "to_dir"), 0, "a link to a directory");
	is_int(make("to_dir", "a", SAFEFILE_LINKS), -EISDIR, "is no file");
	is_int(make("to_dir/below", "a", 0), 0, "but leads to its files");
	is_str(get("far/below"), "a", "as it does everywhere");
	for (i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(to, sizeof(to), "chain%d", (i + 1) % 60);
		if (symlink(to, name))
			bail("cannot link");
	}
	is_int(make("chain0", "a", SAFEFILE_LINKS), -ELOOP, "links that lead nowhere");

	if (geteuid())
		return skip(1, "another user's link: not root");
	is_int(symlink("far/victim", "theirs"), 0, "another user's link");
	is_int(lchown("theirs", OTHER, OTHER), 0, "and be it to a file of our own");
	is_int(make("theirs", "a", SAFEFILE_LINKS), -ELOOP, "is not followed");
	is_str(get("far/victim"), "victim", "ever");
	is_int(symlink("theirs", "ours"), 0, "one of ours that leads to it");
	is_int(make("ours", "a", SAFEFILE_LINKS), -ELOOP, "does not go on there");
	unlink("theirs");
	is_int(symlink("/dev/null", "theirs") | lchown("theirs", OTHER, OTHER), 0,
	       "another user's link to a device");
	is_int(make("theirs", "a", SAFEFILE_LINKS), -ELOOP, "is not followed, either");
}

static void test_special(void)
{
	struct safefile f;
	char path[32], buf[8] = "";
	int reader, pipe_fds[2];

	is_int(mkfifo("fifo", 0600), 0, "a FIFO");
	is_int(make("fifo", "a", SAFEFILE_NO_WAIT), -ENXIO, "that nobody reads");
	reader = open("fifo", O_RDONLY | O_NONBLOCK);
	is_int(safefile__open(&f, AT_FDCWD, "fifo", SAFEFILE_NO_WAIT), 0, "that somebody reads");
	is_int(fcntl(f.fd, F_GETFL) & O_NONBLOCK, 0, "is written to as files are");
	is_int(safefile__keep_old(&f, ".old"), 0, "is not renamed");
	is_int(write(f.fd, "in", 2), 2, "and written to");
	is_int(safefile__commit(&f), 0, "at once");
	safefile__remove(&f);
	close(f.fd);
	safefile__close(&f);
	is_int(read(reader, buf, sizeof(buf)), 2, "what is written can be read");
	is_int(mode_of("fifo") & S_IFMT, S_IFIFO, "it stays a FIFO, and stays");
	close(reader);
	is_int(nr_tmp("."), 0, "nothing temporary was made");

	is_int(make("/dev/null", "a", 0), 0, "a device");
	is_int(symlink("/dev/null", "null"), 0, "a link to it");
	is_int(make("null", "a", 0), 0, "leads there");
	is_int(mode_of("null") & S_IFMT, S_IFLNK, "and stays");
	if (pipe(pipe_fds))
		bail("no pipe");
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[1]);
	is_int(make(path, "pipe", SAFEFILE_LINKS), 0, "a descriptor's name");
	is_int(read(pipe_fds[0], buf, sizeof(buf)), 4, "is what it is");
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[0]);
	ok(make(path, "pipe", SAFEFILE_LINKS) < 0, "unless it is to read from");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pipe_fds))
		bail("no sockets");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe_fds[1]);
	is_int(symlink(path, "socket"), 0, "a link to a socket's");
	is_int(make("socket", "pipe", 0), 0, "is one to write to");
	is_int(read(pipe_fds[0], buf, sizeof(buf)), 4, "though none can be opened");
	reader = open("victim", O_WRONLY | O_APPEND);
	snprintf(path, sizeof(path), "/dev/fd/%d", reader);
	is_int(make(path, ", and more", 0), 0, "a descriptor of a file");
	is_str(get("victim"), "victim, and more", "is written to");
}

static void test_dirs(void)
{
	int fd;

	umask(0);
	fd = safefile__open_dir(AT_FDCWD, "own", false);
	is_int(fd, -ENOENT, "no directory");
	fd = safefile__open_dir(AT_FDCWD, "own", true);
	ok(fd >= 0, "is made");
	is_int(mode_of("own"), S_IFDIR | 0700, "for nobody else, umask 0");
	close(fd);
	umask(022);
	fd = safefile__open_dir(AT_FDCWD, "own", true);
	ok(fd >= 0, "it is there");
	close(fd);
	is_int(symlink("own", "own_link"), 0, "a link to it");
	is_int(safefile__open_dir(AT_FDCWD, "own_link", true), -ENOTDIR, "is none");
	put("own_file", "");
	is_int(safefile__open_dir(AT_FDCWD, "own_file", true), -ENOTDIR, "nor is a file");
	if (geteuid())
		return skip(1, "another user's directory: not root");
	is_int(chown("own", OTHER, OTHER), 0, "another user's");
	is_int(safefile__open_dir(AT_FDCWD, "own", true), -EPERM, "is not ours");
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
		is_int(find(wrong[i], "5"), -EINVAL, "SUDO_UID='%s'", wrong[i]);
		is_int(find("5", wrong[i]), -EINVAL, "SUDO_GID='%s'", wrong[i]);
		ok(!invoker__is_other(), "is nobody");
	}
	is_int(find("5", NULL), -EINVAL, "no SUDO_GID");
	is_int(find("5", ""), -EINVAL, "an empty one");
	is_int(find(NULL, "5"), 0, "no SUDO_UID");
	is_int(find("", ""), 0, "an empty one");
	is_int(find("0", "0"), 0, "root who called sudo");
	ok(!invoker__is_other(), "these are root's own");
	is_int(invoker__uid(), 0, "files");
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
	is_int(invoker__enter(), 0, "in the place of the invoker");
	is_int(invoker__enter(), 0, "twice");
	invoker__leave();
	get_status(inside, sizeof(inside));
	line = strstr(inside, "Uid:");
	is_str(strtok(line, "\n"), "Uid:\t0\t0\t0\t65534", "to files the invoker");
	line = strstr(line + strlen(line) + 1, "Gid:");
	is_str(strtok(line, "\n"), "Gid:\t0\t0\t0\t65534", "and the group");
	line = strstr(line + strlen(line) + 1, "Groups:");
	is_str(strtok(line, "\n"), "Groups:\t65534 ", "and no group of root's");
	is_int(file_caps(), 0, "without capabilities over files");
	if (pthread_create(&t, NULL, look_thread, NULL))
		bail("no thread");
	pthread_join(t, NULL);
	invoker__leave();
	get_status(after, sizeof(after));
	is_str(after, before, "and back: as before");
	ok(file_caps() != 0, "with the capabilities");
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
	is_int(in_child(not_root), 0, "who is not root is nobody else");
	is_int(in_child(become_unlisted), 0, "a user without a name has one group");

	/*
	 * Directories of the user who calls sudo: open/ is writable, closed/ cannot even be
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
	is_int(in_child(find_set_user_id), 0, "set-user-ID: who called, whatever SUDO_UID says");
	is_int(find("65534", "65534"), 0, "called by sudo");
	ok(invoker__is_other() && invoker__uid() == OTHER, "who called is known");
	test_entering();
	ok(!strstr(other_status, "65534\t65534"), "a new thread starts with its own ids");
	is_int(in_child(enter_without_fixup), 0, "securebits that keep capabilities");
	is_int(in_child(enter_without_setuid), 0, "no right to be another: nothing is made");
	is_int(in_child(enter_without_setgid), 0, "nor with root's groups");
	is_int(in_child(become), 0, "for good: with nothing of root's");

	is_int(make("open/new", "a", SAFEFILE_PRIVATE), 0, "where they may, a file is made");
	is_int(owner_of("open/new"), OTHER, "and is theirs");
	is_int(make("new", "a", 0), -EACCES, "where only root may, none");
	is_int(make("closed/new", "a", 0), -EACCES, "nor where they do not even come");
	is_int(symlink("../closed", "open/dir"), 0, "a link as a directory");
	is_int(make("open/dir/file", "a", 0), -EACCES, "leads nowhere else");
	fd = safefile__open_parent("open/dir/file");
	is_int(safefile__unlink(fd, "file", 0), -EACCES, "by its descriptor, either");
	close(fd);
	is_int(symlink("../closed/file", "open/link"), 0, "a link to root's file");
	is_int(make("open/link", "a", SAFEFILE_LINKS), -EACCES, "as the last one");
	is_str(get("closed/file"), "root's", "which is as it was");
	is_int(link("closed/file", "open/hard"), 0, "a hard link to root's file");
	is_int(make("open/hard", "a", 0), 0, "is replaced");
	is_str(get("closed/file"), "root's", "and the file is as it was");
	is_int(owner_of("closed/file"), 0, "and root's");
	is_int(make("open/file", "a", 0), 0, "root's file where they may remove it");
	is_int(owner_of("open/file"), OTHER, "is another then");
	is_int(make("sticky/file", "a", 0), -EPERM, "root's file where they may not");
	is_str(get("sticky/file"), "root's", "is as it was");
	is_int(nr_tmp("sticky"), 0, "nothing temporary is left");
	is_int(safefile__open(&f, AT_FDCWD, "sticky/file", 0), 0, "nor can it be renamed");
	is_int(safefile__keep_old(&f, ".old"), -EPERM, "by them");
	close(f.fd);
	safefile__close(&f);
	mkfifo("closed/fifo", 0666);
	is_int(make("closed/fifo", "a", SAFEFILE_NO_WAIT), -EACCES, "a FIFO of root's");
	fd = safefile__open_dir(AT_FDCWD, "open", false);
	is_int(fd, -EPERM, "root's directory is not theirs");
	fd = safefile__open_dir(AT_FDCWD, "open/kept", true);
	ok(fd >= 0 && owner_of("open/kept") == OTHER, "what is made for them is");
	is_int(safefile__rename(AT_FDCWD, "closed/file", "open/moved"), -EACCES, "no renaming");
	is_int(safefile__unlink(AT_FDCWD, "closed/file", 0), -EACCES, "and no removing");
	is_int(safefile__unlink(AT_FDCWD, "open/dir/file", 0), -EACCES, "of what is root's");
	is_str(get("closed/file"), "root's", "after all of it");
}

int main(void)
{
	test_making();
	test_keeping();
	test_links();
	test_special();
	test_dirs();
	test_invoker();
	return done_testing();
}
