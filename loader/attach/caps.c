// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/kernel.h"

#define BIT(cap)	(1ull << (cap))

static uint64_t permitted;
static bool lowers;			/* capabilities are effective only while raised */
static bool from_file;
static _Thread_local int nr_raised;

static int get_caps(struct __user_cap_header_struct *hdr, struct __user_cap_data_struct data[2])
{
	*hdr = (struct __user_cap_header_struct){ _LINUX_CAPABILITY_VERSION_3, 0 };
	return syscall(SYS_capget, hdr, data) ? -errno : 0;
}

/* Sets the effective capabilities, and drops the permitted capabilities that are not in @keep. */
static int set_caps(uint64_t effective, uint64_t keep)
{
	struct __user_cap_header_struct hdr;
	struct __user_cap_data_struct data[2];
	int i, err = get_caps(&hdr, data);

	for (i = 0; !err && i < 2; i++) {
		data[i].permitted &= keep >> 32 * i;
		data[i].effective = data[i].permitted & (effective >> 32 * i);
	}
	return err ?: syscall(SYS_capset, &hdr, data) ? -errno : 0;
}

int caps__init(void)
{
	struct __user_cap_header_struct hdr;
	struct __user_cap_data_struct data[2];

	if (getuid() != geteuid() || getgid() != getegid())
		return -EPERM;
	if (!get_caps(&hdr, data))
		permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	from_file = getauxval(AT_SECURE);
	/* This program's memory may hold data that its user must not see. */
	if (from_file)
		prctl(PR_SET_DUMPABLE, 0);
	lowers = geteuid() && caps__restricted();
	return geteuid() ? set_caps(lowers ? 0 : permitted, permitted) : 0;
}

bool caps__have(int cap)
{
	return permitted & BIT(cap);
}

bool caps__restricted(void)
{
	return !caps__have(CAP_SYS_PTRACE);
}

bool caps__from_file(void)
{
	return from_file;
}

void caps__raise(void)
{
	if (lowers && !nr_raised++)
		set_caps(permitted, permitted);
}

void caps__lower(void)
{
	if (lowers && !--nr_raised)
		set_caps(0, permitted);
}

void caps__settle(bool attach)
{
	uint64_t keep = BIT(CAP_PERFMON);	/* needed to sample CPUs that come online later */

	/* Keep capabilities that do not come from xpuload's file. */
	if (!lowers || !from_file)
		return;
	/* Before Linux 6.0, calls on open maps need capabilities, too. */
	if (attach || kernel__is_before(6, 0))
		keep |= BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN);
	permitted &= keep;
	set_caps(0, permitted);
}

int caps__missing(char *buf, size_t size)
{
	const bool bpf = !caps__have(CAP_BPF), perfmon = !caps__have(CAP_PERFMON);

	if (caps__have(CAP_SYS_ADMIN))		/* includes cap_bpf and cap_perfmon */
		return 0;
	snprintf(buf, size, "%s%s%s", bpf ? "cap_bpf" : "", bpf && perfmon ? " and " : "",
		 perfmon ? "cap_perfmon" : "");
	return bpf + perfmon;
}

bool caps__allowed(int cap)
{
	return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
}
