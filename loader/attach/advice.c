// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/advice.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/caps.h"
#include "attach/kernel.h"

/*
 * Whether Linux is locked down. /sys/kernel/security/lockdown shows the current level in brackets,
 * as in "none integrity [confidentiality]".
 */
static bool is_locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";
	bool locked = f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]");

	if (f)
		fclose(f);
	return locked;
}

/* Whether we are in a user namespace. The capabilities of a user namespace do not count for BPF. */
static bool is_in_user_namespace(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int first, outside, nr;
	bool whole = f && fscanf(f, "%u %u %u", &first, &outside, &nr) == 3 && !outside &&
		     nr == UINT_MAX;

	if (f)
		fclose(f);
	return f && !whole;
}

static const char *advice_on_capabilities(const char *missing)
{
	static char advice[256];

	if (!geteuid())
		return ": root of a container needs the host's cap_bpf and cap_perfmon (docker run "
		       "--cap-add BPF --cap-add PERFMON; before Linux 6.6 SYS_ADMIN, too)";
	if (!caps__allowed(CAP_BPF) || !caps__allowed(CAP_PERFMON))
		snprintf(advice, sizeof(advice), ": without %s, which the container needs (docker "
						 "run --cap-add BPF --cap-add PERFMON)", missing);
	else
		snprintf(advice, sizeof(advice), ": run it as root, or give it %s (make install "
			 "does, for a group; before Linux 6.6 cap_sys_admin, too)", missing);
	return advice;
}

static const char *advice_on_privileges(void)
{
	char missing[64];

	if (is_in_user_namespace())
		return ": impossible in a user namespace, as in a rootless container: attach from "
		       "outside";
	if (caps__missing(missing, sizeof(missing)))
		return advice_on_capabilities(missing);
	if (is_locked_down())
		return ": the kernel is locked down: /sys/kernel/security/lockdown";
	if (kernel__is_before(6, 6) && !caps__have(CAP_SYS_ADMIN))
		return ": before Linux 6.6 it needs cap_sys_admin, too";
	return ": a security module, or the system call filter of a container, forbids it";
}

const char *advice_on_error(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return advice_on_privileges();
	case ENOMEM:
		return ": give a smaller -m";
	case EMFILE:
		return ": raise the number of open files, ulimit -n";
	case ENOSYS:
		return ": the kernel was built without CONFIG_BPF_SYSCALL or CONFIG_PERF_EVENTS";
	}
	if (kernel__is_before(5, 11))
		return ": Linux 5.11 or later is needed";
	if (!kernel__has_btf())
		return ": the kernel has no BTF, /sys/kernel/btf/vmlinux: CONFIG_DEBUG_INFO_BTF";
	return err == -ENOENT ? ": the kernel has no uprobes: CONFIG_UPROBES" : "";
}
