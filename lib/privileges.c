// SPDX-License-Identifier: MIT
#include "privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CAPS	64

int privileges__bound(uint64_t keep)
{
	int cap;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/*
	 * A program that root executes gets the whole bounding set. Without CAP_SETPCAP this
	 * process cannot change that set; then only no_new_privs keeps the program from gaining
	 * capabilities.
	 */
	for (cap = 0; cap < MAX_CAPS; cap++)
		if (!(keep & CAP_BIT(cap)) && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EPERM)
			return -errno;
	return 0;
}

int privileges__drop(uint64_t keep)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	int i, err = privileges__bound(keep);

	if (err)
		return err;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    syscall(SYS_capget, &head, caps))
		return -errno;
	for (i = 0; i < 2; i++) {
		caps[i].permitted &= (uint32_t)(keep >> 32 * i);
		caps[i].effective &= caps[i].permitted;
		caps[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, caps) ? -errno : 0;
}
