// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * xpuload - records which call path launched which device work
 *
 * Arms the probes, starts the target or attaches to running processes, drains the ring into
 * xpu.data until the end, and leaves everything that needs symbols to xpumerge.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/caps.h"
#include "invoker.h"
#include "target/keeper.h"
#include "commands.h"
#include "merger.h"
#include "base/msg.h"
#include "options.h"
#include "recording.h"
#include "target/target.h"

#define NICE	(-10)			/* of the thread that drains the ring, if allowed */

/* Removes the recording, which nobody needs any more. */
static void remove_recording(const struct recording *r)
{
	safefile__remove(&r->file);
	if (r->keeper)
		keeper__remove(r->keeper);
}

int main(int argc, char **argv)
{
	struct options opts;
	struct recording r = RECORDING_INIT(&opts);
	const char *why;
	int status;

	if (caps__init()) {
		msg__error("this program must not be set-user-ID or set-group-ID: \"make install\" "
			   "gives it what it needs");
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
		goto out;
	}
	status = recording__start(&r);
	if (status)
		goto out;
	setpriority(PRIO_PROCESS, syscall(SYS_gettid), NICE);
	recording__run(&r);
	status = recording__finish(&r);
	if (merger__wanted(&opts) && !merger__run(&opts))
		status = STATUS_FAILED;
	else if (opts.merge)
		remove_recording(&r);
	/* Of the files that they are beside, none is left. */
	if (opts.push && !opts.output_given && !opts.keep && r.keeper)
		keeper__remove(r.keeper);
out:
	recording__free(&r);
	options__free(&opts);
	if (!status)
		target__exit_like(r.target.wait_status);
	return status;
}
