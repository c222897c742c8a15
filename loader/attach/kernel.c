// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/kernel.h"

#include <stdio.h>
#include <sys/utsname.h>

bool kernel__is_before(int major, int minor)
{
	int this_major, this_minor;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%d.%d", &this_major, &this_minor) != 2)
		return false;
	return this_major < major || (this_major == major && this_minor < minor);
}

bool kernel__has_btf(void)
{
	FILE *f = fopen("/sys/kernel/btf/vmlinux", "re");
	bool has = f && fgetc(f) != EOF;

	if (f)
		fclose(f);
	return has;
}

bool kernel__shows_addresses(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long first = 0;

	if (f && fscanf(f, "%llx", &first) != 1)
		first = 0;
	if (f)
		fclose(f);
	return first;
}
