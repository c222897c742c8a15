// SPDX-License-Identifier: GPL-3.0-or-later
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "human.h"
#include "base/msg.h"
#include "options.h"

#define NS_PER_S	UINT64_C(1000000000)

void status__init(struct status *s, const struct options *opts, uint64_t now_ns)
{
	const char *term = getenv("TERM");

	*s = (struct status){ .start_ns = now_ns, .shown_ns = now_ns };
	s->wanted = !msg__quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") &&
		    (opts->mode != PROBES_RUN || !isatty(STDOUT_FILENO));
}

bool status__is_due(const struct status *s, uint64_t now_ns)
{
	return s->wanted && now_ns - s->shown_ns >= NS_PER_S;
}

void status__show(struct status *s, uint64_t now_ns, uint64_t nr_launches, uint64_t bytes,
		  uint64_t nr_lost)
{
	char rate[HUMAN_MAX], size[HUMAN_MAX], line[160];
	uint64_t nr = nr_launches - s->nr_launches;

	human__count(rate, (uint64_t)((double)nr * NS_PER_S / (now_ns - s->shown_ns) + 0.5));
	snprintf(line, sizeof(line), "%" PRIu64 " s, %s launches/s, %s, lost %" PRIu64,
		 (now_ns - s->start_ns) / NS_PER_S, rate, human__bytes(size, bytes), nr_lost);
	msg__status(line);
	s->nr_launches = nr_launches;
	s->shown_ns = now_ns;
}

void status__clear(struct status *s)
{
	if (s->wanted)
		msg__status("");
}
