// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>

#define ADDRESS(name)	&name##_feature,
const struct feature *const features[] = { FEATURES(ADDRESS) NULL };

int feature__wake(enum feature_id id, struct model *m, void **state)
{
	*state = *state ?: features[id]->new(m);
	return *state ? 0 : -ENOMEM;
}

void features__free(void *const *states)
{
	unsigned int i;

	for (i = 0; features[i]; i++)
		if (states[i])
			features[i]->free(states[i]);
}

int features__absorb(struct model *m, void **to, void *const *from, struct remap *r)
{
	unsigned int i;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		if (from[i])
			err = feature__wake(i, m, &to[i]) ?: features[i]->absorb(to[i], from[i], r);
	return err;
}
