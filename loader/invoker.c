// SPDX-License-Identifier: GPL-3.0-or-later
#include "invoker.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return: whether this is root for somebody else. */
static bool find(uid_t *uid, gid_t *gid)
{
	const char *sudo_uid = getenv("SUDO_UID"), *sudo_gid = getenv("SUDO_GID");

	if (geteuid() || !sudo_uid || !sudo_gid)
		return false;
	*uid = strtoul(sudo_uid, NULL, 10);
	*gid = strtoul(sudo_gid, NULL, 10);
	return true;
}

void invoker__own(int fd)
{
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (find(&uid, &gid) && !fstat(fd, &st) && S_ISREG(st.st_mode) && fchown(fd, uid, gid))
		return;			/* a file system without owners */
}

uid_t invoker__enter(void)
{
	uid_t uid;
	gid_t gid;

	if (!find(&uid, &gid))
		return geteuid();
	setfsgid(gid);
	setfsuid(uid);
	return uid;
}

void invoker__leave(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}

int invoker__become(void)
{
	const char *user = getenv("SUDO_USER");
	uid_t uid;
	gid_t gid;

	if (!find(&uid, &gid))
		return 0;
	/* Root's groups go, whether the user's are known or not. */
	if (!user || initgroups(user, gid))
		if (setgroups(1, &gid))
			return -errno;
	return setgid(gid) || setuid(uid) ? -errno : 0;
}
