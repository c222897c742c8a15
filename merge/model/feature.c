// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <string.h>

#define ADDRESS(name)	&name##_feature,
const struct feature *features[] = { FEATURES(ADDRESS) NULL };

static bool feature__is_absent(const char *name)
{
	unsigned int i;

	for (i = 0; features[i] && strcmp(features[i]->name, name) != 0; i++)
		;
	return !features[i] || !features[i]->free;
}

/*
 * Makes features absent that need an absent feature. Repeats this, because other features may need
 * the features that became absent.
 */
__attribute__((constructor)) static void features__replace(void)
{
	static struct feature absent[NR_FEATURES + 1];
	unsigned int i;
	bool replaced;

	do {
		replaced = false;
		for (i = 0; features[i]; i++) {
			if (!features[i]->needs || !feature__is_absent(features[i]->needs))
				continue;
			absent[i].name = features[i]->name;
			features[i] = &absent[i];
			replaced = true;
		}
	} while (replaced);
}

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

bool features__recorded(const struct session *s)
{
	unsigned int i;

	for (i = 0; features[i]; i++)
		if (features[i]->recorded && features[i]->recorded(s))
			return true;
	return false;
}
