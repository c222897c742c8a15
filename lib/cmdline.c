// SPDX-License-Identifier: MIT
#include "cmdline.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

#define NAME_MAX_LEN	32		/* of an option that could be meant */

const char *cmdline__habit(const struct cmdline_habit *habits, const char *word)
{
	for (; habits->word; habits++)
		if (!strcmp(habits->word, word))
			return habits->here;
	return NULL;
}

/* Return: how many letters must be put in, taken out or replaced to make one of the other. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LEN + 1], diagonal, above, i, k, len = strlen(b);

	for (k = 0; k <= len; k++)
		row[k] = k;
	for (i = 0; a[i]; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (k = 0; k < len; k++) {
			above = row[k + 1];
			row[k + 1] = min_t(size_t, above, row[k]) + 1;
			row[k + 1] = min_t(size_t, row[k + 1], diagonal + (a[i] != b[k]));
			diagonal = above;
		}
	}
	return row[len];
}

/* Return: the option that @name, without dashes, was meant to be, or NULL. */
static const char *nearest(const char *name, const struct option *longs)
{
	size_t best = strlen(name) / 4 + 1, d;
	const char *found = NULL;

	for (; longs->name; longs++) {
		if (strlen(longs->name) > NAME_MAX_LEN)
			continue;
		/* --frequency is --freq. */
		d = strlen(longs->name) > 2 && !strncmp(name, longs->name, strlen(longs->name)) ?
			0 : distance(name, longs->name);
		if (d < best || (d == best && !found)) {
			best = d;
			found = longs->name;
		}
	}
	return found;
}

/* Return: whether @name is short for several of @longs; then all is said. */
static bool explain_ambiguous(char *line, size_t size, const char *name, const struct option *longs)
{
	size_t nr = 0, used;

	used = snprintf(line, size, "--%s can be", name);
	for (; longs->name; longs++)
		if (!strncmp(longs->name, name, strlen(name)) && used < size)
			used += snprintf(line + used, size - used, "%s--%s", nr++ ? " or " : " ",
					 longs->name);
	return nr > 1;
}

void cmdline__explain(char *line, size_t size, int c, char *const argv[],
		      const struct option *longs, const struct cmdline_habit *habits)
{
	const char *arg = argv[optind - 1], *here, *meant;
	bool is_long = !strncmp(arg, "--", 2);
	const struct option *known;
	char word[64];

	for (known = longs; known->name && (known->val != optopt ||
	     (is_long && strncmp(known->name, arg + 2, strcspn(arg + 2, "=")))); known++)
		;
	/* @arg is not yet it where a short one is not the last in its word: optopt tells. */
	if (optopt && is_long && known->name)
		snprintf(word, sizeof(word), "--%s", known->name);
	else if (optopt)
		snprintf(word, sizeof(word), "-%c", optopt);
	else
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg, "="), arg);
	if (c == ':') {
		snprintf(line, size, "%s wants an argument: see --help", word);
		return;
	}
	if (optopt && known->name) {
		snprintf(line, size, "%s takes no argument: see --help", word);
		return;
	}
	here = cmdline__habit(habits, word);
	if (here) {
		snprintf(line, size, "there is no option %s: %s", word, here);
		return;
	}
	is_long = !strncmp(word, "--", 2);
	if (is_long && explain_ambiguous(line, size, word + 2, longs))
		return;
	meant = is_long ? nearest(word + 2, longs) : NULL;
	snprintf(line, size, "there is no option %s%s%s: see --help", word, meant ? ", perhaps --" : "",
		 meant ?: "");
}
