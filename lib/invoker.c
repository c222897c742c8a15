// SPDX-License-Identifier: MIT
#include "invoker.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Capabilities that override a file's owner and mode; the last one overrides disk quotas. When a
 * thread's file system user ID changes from root to another one, Linux drops all of them except the
 * last, unless securebits forbid that.
 */
static const uint64_t file_caps =
	1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH |
	1ull << CAP_FOWNER | 1ull << CAP_FSETID | 1ull << CAP_LINUX_IMMUTABLE | 1ull << CAP_MKNOD |
	1ull << CAP_MAC_OVERRIDE | 1ull << CAP_SYS_RESOURCE;

struct groups {
	gid_t *v;
	int nr;
};

static struct {
	bool other;
	uid_t uid;
	gid_t gid;
	struct groups groups;		/* if groups.v is NULL: the program's own groups */
	struct groups own;
} invoker;

static __thread struct {
	unsigned int depth;
	struct __user_cap_data_struct caps[2];	/* the capabilities before invoker__enter() */
} entered;

/* ---- finding --------------------------------------------------------------------------------- */

/* Return: whether @text is a user or group id and nothing else. UINT32_MAX is not an id. */
static bool parse_id(const char *text, uint32_t *id)
{
	uint64_t n = 0;
	const char *p;

	for (p = text; *p >= '0' && *p <= '9' && n < UINT32_MAX; p++)
		n = n * 10 + (*p - '0');
	*id = n;
	return p != text && !*p && n < UINT32_MAX;
}

/* Return: the user's name. If several names have this id, prefers the name that sudo gave. */
static char *find_name(uid_t uid)
{
	const char *name = getenv("SUDO_USER");
	const struct passwd *pw = name ? getpwnam(name) : NULL;

	if (!pw || pw->pw_uid != uid)
		pw = getpwuid(uid);
	return pw ? strdup(pw->pw_name) : NULL;
}

/* Finds the user's groups. A user without a name has one group. */
static int find_groups(struct groups *g, uid_t uid, gid_t gid)
{
	char *name = find_name(uid);
	int nr = 1;
	gid_t *v;

	for (;;) {
		v = realloc(g->v, nr * sizeof(*v));
		if (!v)
			break;
		g->v = v;
		g->nr = nr;
		v[0] = gid;
		if (!name || getgrouplist(name, gid, v, &nr) >= 0)
			break;
		if (nr <= g->nr)
			nr = g->nr * 2;
	}
	g->nr = nr;
	free(name);
	return v ? 0 : -ENOMEM;
}

static int find_own_groups(struct groups *g)
{
	int nr = getgroups(0, NULL);

	g->v = nr < 0 ? NULL : calloc(nr ?: 1, sizeof(*g->v));
	if (!g->v)
		return -ENOMEM;
	g->nr = getgroups(nr, g->v);
	return g->nr < 0 ? -errno : 0;
}

/* Return: the value of an environment variable, or NULL if it is unset or empty. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

int invoker__find(const char **why)
{
	const char *uid = variable("SUDO_UID"), *gid = variable("SUDO_GID");
	int err;

	invoker.uid = getuid();
	invoker.gid = getgid();
	if (invoker.uid != geteuid() || invoker.gid != getegid()) {
		invoker.other = true;
		return 0;
	}
	if (invoker.uid || !uid)
		return 0;
	*why = "SUDO_UID and SUDO_GID do not name a user and a group; unset them to make files as "
	       "root";
	if (!gid || !parse_id(uid, &invoker.uid) || !parse_id(gid, &invoker.gid))
		return -EINVAL;
	if (!invoker.uid)
		return 0;		/* root itself called sudo */
	*why = "out of memory";
	err = find_groups(&invoker.groups, invoker.uid, invoker.gid) ?:
	      find_own_groups(&invoker.own);
	invoker.other = !err;
	return err;
}

bool invoker__is_other(void)
{
	return invoker.other;
}

uid_t invoker__uid(void)
{
	return invoker.other ? invoker.uid : geteuid();
}

/* ---- being the invoker ----------------------------------------------------------------------- */

/* Sets the groups of this thread only. The C library's setgroups() would change all threads. */
static int set_groups(const struct groups *g)
{
	return g->v && syscall(SYS_setgroups, g->nr, g->v) ? -errno : 0;
}

static int set_caps(const struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, caps) ? -errno : 0;
}

static int get_caps(struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, caps) ? -errno : 0;
}

static int drop_file_caps(void)
{
	struct __user_cap_data_struct caps[2];
	int err = get_caps(caps);

	caps[0].effective &= ~(uint32_t)file_caps;
	caps[1].effective &= ~(uint32_t)(file_caps >> 32);
	return err ?: set_caps(caps);
}

/*
 * Sets this thread's user and group IDs for file access. Neither setfsuid() nor setfsgid() reports
 * failure: each returns the previous ID.
 */
static int set_ids(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (gid_t)setfsgid(-1) == gid && (uid_t)setfsuid(-1) == uid ? 0 : -EPERM;
}

/*
 * Undoes invoker__enter(). When the file system user ID becomes root's again, Linux raises
 * capabilities, so this sets the capabilities that the thread had before.
 */
static void be_oneself(void)
{
	set_ids(geteuid(), getegid());
	set_groups(&invoker.own);
	set_caps(entered.caps);
}

int invoker__enter(void)
{
	int err;

	if (!invoker.other || entered.depth++)
		return 0;
	err = get_caps(entered.caps);
	if (err)
		goto out;
	err = set_groups(&invoker.groups) ?: set_ids(invoker.uid, invoker.gid) ?: drop_file_caps();
	if (err)
		be_oneself();
out:
	if (err)
		entered.depth--;
	return err;
}

void invoker__leave(void)
{
	int saved = errno;

	if (invoker.other && !--entered.depth)
		be_oneself();
	errno = saved;
}

int invoker__become(void)
{
	const struct groups *g = &invoker.groups;
	uid_t uid = invoker.uid;
	gid_t gid = invoker.gid;

	if (!invoker.other)
		return 0;
	if (g->v && setgroups(g->nr, g->v))
		return -errno;
	return setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ? -errno : 0;
}
