// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/kept.h"

#include <errno.h>

int kept__init(struct kept *k, struct carry *c)
{
	unsigned int i;

	for (i = 0; features[i]; i++) {
		if (!features[i]->split)
			continue;
		k->states[i] = features[i]->split->new(c);
		if (!k->states[i])
			return -ENOMEM;
	}
	return 0;
}

void kept__exit(struct kept *k)
{
	unsigned int i;

	for (i = 0; features[i]; i++)
		if (k->states[i])
			features[i]->split->free(k->states[i]);
}

/* Return: the index of the feature that takes records of that type, or NR_FEATURES. */
static unsigned int taker(uint16_t type)
{
	unsigned int i;

	for (i = 0; features[i]; i++)
		if (features[i]->split && features[i]->split->takes == type)
			return i;
	return NR_FEATURES;
}

bool kept__takes(uint16_t type)
{
	return taker(type) < NR_FEATURES;
}

int kept__record(struct kept *k, struct outfile *p, const struct xpu_record *rec)
{
	unsigned int i = taker(rec->type);

	return i < NR_FEATURES ? features[i]->split->record(k->states[i], p, rec) : 0;
}

int kept__device(struct kept *k, uint32_t proc_id, const struct xpu_record_device *rec)
{
	unsigned int i;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		if (features[i]->split)
			err = features[i]->split->device(k->states[i], proc_id, rec);
	return err;
}

int kept__step(struct kept *k, struct outfile *p, enum split_step step, uint64_t time_ns)
{
	unsigned int i;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		if (features[i]->split)
			err = features[i]->split->step(k->states[i], p, step, time_ns);
	return err;
}

uint64_t kept__nr_beyond(const struct kept *k)
{
	uint64_t nr = 0;
	unsigned int i;

	for (i = 0; features[i]; i++)
		if (k->states[i])
			nr += features[i]->split->nr_beyond(k->states[i]);
	return nr;
}
