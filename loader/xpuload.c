// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * xpuload - records which call path launched which device work
 *
 * It attaches the probes, starts the target or attaches to running processes, and drains the ring
 * into xpu.data until the end. It leaves everything that needs symbols to xpumerge.
 */
#include "attach/caps.h"
#include "control.h"
#include "invoker.h"
#include "commands.h"
#include "base/msg.h"
#include "options.h"
#include "recording.h"
#include "target/target.h"

int main(int argc, char **argv)
{
	struct options opts;
	int status, wait_status = 0;
	const char *why;

	if (caps__init()) {
		msg__error("this program must not be set-user-ID or set-group-ID: \"make install\" "
			   "gives it capabilities instead");
		return STATUS_FAILED;
	}
	target__init();
	status = commands__run(argc, argv);
	if (status != -1)
		return status;
	status = options__parse(&opts, argc, argv);
	if (status != -1) {
		options__free(&opts);
		return status;
	}
	if (invoker__find(&why)) {
		msg__error("%s", why);
		status = STATUS_FAILED;
	} else if (options__by_hand(&opts)) {
		status = control__run(&opts, &wait_status);
	} else {
		status = recording__whole(&opts, &wait_status);
	}
	options__free(&opts);
	if (!status)
		target__exit_like(wait_status);
	return status;
}
