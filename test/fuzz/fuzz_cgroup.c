// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_cgroup - fuzzes a line of /proc/PID/cgroup; anybody who may make cgroups can choose the
 * line's names
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/cgroup_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts if a label does not end within its buffer, or is not printable text. */
static void check(const char *text, size_t room)
{
	size_t i;

	if (strnlen(text, room) == room)
		abort();
	for (i = 0; text[i]; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_labels l = { .job = "" };
	char *line = strndup((const char *)data, size);

	if (!line)
		return 0;
	cgroup_labels__add_line(&l, line);
	cgroup_labels__add_line(&l, line);
	check(l.container, sizeof(l.container));
	check(l.pod_uid, sizeof(l.pod_uid));
	check(l.job, sizeof(l.job));
	check(l.step, sizeof(l.step));
	free(line);
	return 0;
}
