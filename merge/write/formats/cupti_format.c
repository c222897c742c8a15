// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/twofiles.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)o, (void)result;
	return twofiles_out__write_events(events, s, f);
}

/*
 * In the manual:
 * Chrome JSON with the calls that made launches, the device work, and the correlation ids, in the
 * categories CUDA_Runtime, GPU_Kernel, MemCopy and MemSet.
 * The option
 * .Fl Fl gpu
 * takes this file, together with a file of the format
 * .Cm stacks .
 */
const struct format cupti_format = {
	.times_only = true,
	.help = "launches and GPU work, for --gpu",
	.options = FORMAT_MERGED,
	.listen = twofiles_out__listen,
	.free = twofiles_out__drop,
	.write = write_session,
};
