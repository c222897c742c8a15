// SPDX-License-Identifier: MIT
#include "cmdline.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define LETTERLESS	256		/* getopt_long()'s value for an option without a letter:
					 * this plus the option's index */

/* ---- names ---------------------------------------------------------------------------------- */

const char *cmdline__habit(const struct cmdline_habit *habits, const char *word)
{
	for (; habits && habits->word; habits++)
		if (!strcmp(habits->word, word))
			return habits->here;
	return NULL;
}

void cmdline__join(char *buf, size_t size, const char *const *names, const char *last)
{
	size_t i, len = 0;

	*buf = 0;
	for (i = 0; names[i] && len < size; i++)
		len += snprintf(buf + len, size - len, "%s%s",
				!i ? "" : names[i + 1] ? ", " : last, names[i]);
}

void cmdline__expect(char *buf, size_t size, const struct cmdline_option *option,
		     const char *typed)
{
	const char *const *names = cmdline__names(option);
	const char *meant = cmdline__nearest(names, typed);
	size_t len = 0;

	if (meant)
		len = snprintf(buf, size, "perhaps %s; ", meant);
	if (len < size)
		len += snprintf(buf + len, size - len, "expected ");
	if (len < size)
		cmdline__join(buf + len, size - len, names, " or ");
}

const char *const *cmdline__names(const struct cmdline_option *option)
{
	return option->get_names ? option->get_names() : option->names;
}

int cmdline__find_name(const struct cmdline_given *given, const char *word)
{
	const char *const *names = cmdline__names(given->option);
	int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(names[i], word))
			return i;
	given->cmdline->invalid(given->option, word);
	return -EINVAL;
}

/* ---- what options do ------------------------------------------------------------------------ */

static void *member(void *target, const struct cmdline_given *given)
{
	return (char *)target + given->option->member;
}

int cmdline__set_flag(void *target, const struct cmdline_given *given)
{
	*(bool *)member(target, given) = true;
	return 0;
}

int cmdline__set_value(void *target, const struct cmdline_given *given)
{
	*(unsigned int *)member(target, given) = given->option->value;
	return 0;
}

int cmdline__set_string(void *target, const struct cmdline_given *given)
{
	*(const char **)member(target, given) = given->arg;
	return 0;
}

int cmdline__set_number(void *target, const struct cmdline_given *given)
{
	const struct cmdline_option *option = given->option;
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(given->arg, &end, 10);
	if (errno || *given->arg < '0' || *given->arg > '9' || *end || n < option->min ||
	    n > option->max) {
		given->cmdline->invalid(option, given->arg);
		return -EINVAL;
	}
	*(uint32_t *)member(target, given) = n;
	return 0;
}

int cmdline__set_name(void *target, const struct cmdline_given *given)
{
	int i = cmdline__find_name(given, given->arg);

	if (i < 0)
		return i;
	*(unsigned int *)member(target, given) = i;
	return 0;
}

int cmdline__set_word(void *target, const struct cmdline_given *given)
{
	int i = cmdline__find_name(given, given->arg);

	if (i < 0)
		return i;
	*(const char **)member(target, given) = given->arg;
	return 0;
}

int cmdline__version(void *target, const struct cmdline_given *given)
{
	(void)target;
	puts(given->cmdline->version);
	return CMDLINE_DONE;
}

/* ---- --help --------------------------------------------------------------------------------- */

/* Breaks @text, which begins at @column, into lines of at most @columns. */
static void wrap(char *text, size_t column, size_t columns)
{
	char *at = text, *blank;

	while ((blank = strchr(at, ' '))) {
		column += blank - at + 1;
		if (column + strcspn(blank + 1, " ") > columns) {
			*blank = '\n';
			column = 0;
		}
		at = blank + 1;
	}
}

/* Makes the whole help text of an option. Its list of arguments is wrapped at @columns. */
static void option__describe(const struct cmdline_option *o, char *text, size_t size,
			     size_t columns)
{
	const char *line, *place = strstr(o->help, "%s");
	char list[2048] = "";

	if (!place) {
		snprintf(text, size, "%s", o->help);
		return;
	}
	if (o->list)
		o->list(list, sizeof(list));
	else
		cmdline__join(list, sizeof(list), cmdline__names(o), " or ");
	for (line = place; line > o->help && line[-1] != '\n'; line--)
		;
	if (!strchr(list, '\n'))
		wrap(list, place - line, columns);
	snprintf(text, size, "%.*s%s%s", (int)(place - o->help), o->help, list, place + 2);
}

/* Adds the option's spelling to @head, after the options that share its help. */
static void option__add_to_head(const struct cmdline_option *o, char *head, size_t size)
{
	size_t len = strlen(head);

	if (len)
		len += snprintf(head + len, size - len, ", --%s", o->name);
	else if (!o->name)
		len += snprintf(head, size, "  -%c", o->letter);
	else if (o->letter)
		len += snprintf(head, size, "  -%c, --%s", o->letter, o->name);
	else
		len += snprintf(head, size, "      --%s", o->name);
	if (o->arg)
		snprintf(head + len, size - len, "%s%s", *o->arg == '[' ? "" : " ", o->arg);
}

int cmdline__help(void *target, const struct cmdline_given *given)
{
	const struct cmdline *c = given->cmdline;
	char head[256] = "", text[4096];
	const struct cmdline_option *o;
	const char *at, *end;
	size_t used, len;

	(void)target;
	fputs(c->usage, stdout);
	for (o = c->options; o < c->options + c->nr_options; o++) {
		if (o->heading)
			printf("%s%s\n", o == c->options ? "" : "\n", o->heading);
		option__add_to_head(o, head, sizeof(head));
		if (!o->help)
			continue;
		option__describe(o, text, sizeof(text), c->columns - c->column);
		used = printf("%s", head);
		*head = 0;
		for (at = text; *at; at = *end ? end + 1 : end) {
			end = strchrnul(at, '\n');
			len = end - at;
			/* The help text begins on the option's own line if it fits there. */
			if (used && used >= c->column && used + 2 + len > c->columns) {
				putchar('\n');
				used = 0;
			}
			printf("%*s%.*s\n", used && used >= c->column ? 2 : (int)(c->column - used),
			       "", (int)len, at);
			used = 0;
		}
	}
	fputs(c->footer, stdout);
	return CMDLINE_DONE;
}

/* Prints the table for scripts/completion.sh and for tests: see cmdline__parse(). */
static void list_options(const struct cmdline *c)
{
	const struct cmdline_option *o;
	const char *const *name;

	for (o = c->options; o < c->options + c->nr_options; o++) {
		printf("option %s %c %s", o->name ?: "-", o->letter ?: '-', o->arg ?: "-");
		for (name = cmdline__names(o); name && *name; name++)
			printf(" %s", *name);
		putchar('\n');
	}
	for (name = c->commands; name && *name; name++)
		printf("command %s\n", *name);
}

/* ---- unknown and ambiguous options ---------------------------------------------------------- */

size_t cmdline__distance(const char *a, const char *b)
{
	size_t row[CMDLINE_MAX_NAME + 1], diagonal, above, i, k, len = strlen(b);

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

/*
 * Return: the distance of the word @typed from @known; SIZE_MAX if it is more than 1 + a quarter of
 * the length of @typed.
 */
static size_t distance_within(const char *typed, const char *known)
{
	size_t len = strlen(typed), d;

	if (strlen(known) > CMDLINE_MAX_NAME || !len)
		return SIZE_MAX;
	/* A user who types --frequency means --freq, and a user who types leak means leaked. */
	if ((strlen(known) > 2 && !strncmp(typed, known, strlen(known))) ||
	    (len > 2 && !strncmp(typed, known, len)))
		return 0;
	d = cmdline__distance(typed, known);
	return d <= len / 4 + 1 ? d : SIZE_MAX;
}

const char *cmdline__nearest(const char *const *names, const char *typed)
{
	size_t best = SIZE_MAX, d;
	const char *found = NULL;

	for (; names && *names; names++) {
		d = distance_within(typed, *names);
		if (d < best) {
			best = d;
			found = *names;
		}
	}
	return found;
}

/* Return: the option that the user probably meant by @name, which has no dashes, or NULL. */
static const char *nearest(const struct cmdline *c, const char *name)
{
	const char *names[CMDLINE_MAX_OPTIONS + 1] = { NULL };
	size_t i, nr = 0;

	for (i = 0; i < c->nr_options; i++)
		if (c->options[i].name)
			names[nr++] = c->options[i].name;
	return cmdline__nearest(names, name);
}

/* Return: whether @name abbreviates several options. If so, prints an error. */
static bool explain_ambiguous(const struct cmdline *c, const char *name)
{
	char line[512];
	size_t i, nr = 0, used;

	used = snprintf(line, sizeof(line), "--%s can be", name);
	for (i = 0; i < c->nr_options; i++)
		if (c->options[i].name && !strncmp(c->options[i].name, name, strlen(name)) &&
		    used < sizeof(line))
			used += snprintf(line + used, sizeof(line) - used, "%s--%s",
					 nr++ ? " or " : " ", c->options[i].name);
	if (nr > 1)
		c->error("%s", line);
	return nr > 1;
}

/* Return: the value that getopt_long() returns for an option. */
static int option__value(const struct cmdline *c, const struct cmdline_option *o)
{
	return o->letter ?: LETTERLESS + (int)(o - c->options);
}

/*
 * Return: the option that has this getopt_long() value, and whose name begins with @begin; or NULL.
 */
static const struct cmdline_option *find_option(const struct cmdline *c, int value,
						const char *begin, size_t len)
{
	const struct cmdline_option *o;

	for (o = c->options; o < c->options + c->nr_options; o++)
		if (option__value(c, o) == value &&
		    (!len || (o->name && !strncmp(o->name, begin, len))))
			return o;
	return NULL;
}

/* Prints why getopt_long() has returned @value, which is '?' or ':'. */
static void explain(const struct cmdline *c, int value, char *const argv[])
{
	const char *arg = argv[optind - 1], *here, *meant;
	size_t len = strncmp(arg, "--", 2) ? 0 : strcspn(arg + 2, "=");
	const struct cmdline_option *known = optopt ? find_option(c, optopt, arg + 2, len) : NULL;
	char word[64];

	/*
	 * If the letter in optopt is not the last letter of its word, @arg is an earlier word.
	 */
	if (known && known->name && len)
		snprintf(word, sizeof(word), "--%s", known->name);
	else if (optopt)
		snprintf(word, sizeof(word), "-%c", optopt);
	else
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg, "="), arg);
	if (value == ':') {
		c->error("%s: expected an argument: see --help", word);
		return;
	}
	if (known) {
		c->error("%s takes no argument: see --help", word);
		return;
	}
	here = cmdline__habit(c->habits, word);
	if (here) {
		c->error("there is no option %s: %s", word, here);
		return;
	}
	if (!strncmp(word, "--", 2) && explain_ambiguous(c, word + 2))
		return;
	meant = !strncmp(word, "--", 2) ? nearest(c, word + 2) : NULL;
	c->error("there is no option %s%s%s: see --help", word, meant ? ", perhaps --" : "",
		 meant ?: "");
}

/* ---- the command line ----------------------------------------------------------------------- */

/* Return: the option's has_arg value for getopt_long(). */
static int option__takes(const struct cmdline_option *o)
{
	return !o->arg ? no_argument : *o->arg == '[' ? optional_argument : required_argument;
}

/* Whether the option's function only sets its member. */
static bool option__sets_member(const struct cmdline_option *o)
{
	return o->set == cmdline__set_string || o->set == cmdline__set_number ||
	       o->set == cmdline__set_name || o->set == cmdline__set_word ||
	       o->set == cmdline__set_value;
}

/* Whether @o with @arg would silently override @before, which was given with @arg_before. */
static bool option__replaces(const struct cmdline_option *o, const char *arg,
			     const struct cmdline_option *before, const char *arg_before)
{
	if (o == before)
		return !o->many && strcmp(arg ?: "", arg_before ?: "");
	return option__sets_member(o) && option__sets_member(before) &&
	       o->member == before->member && o->value != before->value;
}

/* Prints an option into @buf, spelled as the user may have written it. */
static void option__print(const struct cmdline_option *o, const char *arg, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%.40s", o->name ? "--" : "-",
		 o->name ?: (char[]){ o->letter, '\0' },
		 !arg ? "" : *o->arg == '[' ? "=" : " ", arg ?: "");
}

/*
 * Looks for an earlier option that option @g would override. If one exists, prints an error. @args:
 * the arguments of the options given so far, indexed by row of the table
 */
static bool conflicts(const struct cmdline *c, const struct cmdline_given *g,
		      const char *const *args, uint64_t given)
{
	char before[128], now[128];
	size_t i;

	for (i = 0; i < c->nr_options; i++) {
		if (!(given >> i & 1) ||
		    !option__replaces(g->option, g->arg, &c->options[i], args[i]))
			continue;
		option__print(&c->options[i], args[i], before, sizeof(before));
		option__print(g->option, g->arg, now, sizeof(now));
		c->error("%s and %s cannot be combined: give one of them", before, now);
		return true;
	}
	return false;
}

int cmdline__parse(const struct cmdline *c, void *target, int argc, char **argv, uint64_t *given)
{
	static const char *const colons[] = {
		[no_argument] = "", [required_argument] = ":", [optional_argument] = "::",
	};
	struct option longs[CMDLINE_MAX_OPTIONS + 1] = { { 0 } };
	char letters[3 * CMDLINE_MAX_OPTIONS + 3];
	struct cmdline_given g = { .cmdline = c, .argc = argc, .argv = argv };
	const char *args[CMDLINE_MAX_OPTIONS] = { NULL };
	uint64_t all = 0;
	size_t i, nr = 0, at;
	int value, err;

	if (argc == 2 && !strcmp(argv[1], "--list-options")) {
		list_options(c);
		return CMDLINE_DONE;
	}
	at = sprintf(letters, "%s:", c->stop_at_word ? "+" : "");
	for (i = 0; i < c->nr_options; i++) {
		const struct cmdline_option *o = &c->options[i];

		if (o->name)
			longs[nr++] = (struct option){ o->name, option__takes(o), NULL,
						       option__value(c, o) };
		if (o->letter)
			at += sprintf(letters + at, "%c%s", o->letter, colons[option__takes(o)]);
	}
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		g.option = find_option(c, value, "", 0);
		if (!g.option) {
			explain(c, value, argv);
			return -EINVAL;
		}
		g.arg = optarg;
		if (conflicts(c, &g, args, all))
			return -EINVAL;
		err = g.option->set(target, &g);
		if (err)
			return err;
		args[g.option - c->options] = optarg;
		all |= 1ull << (g.option - c->options);
	}
	if (given)
		*given = all;
	return 0;
}

bool cmdline__has(const struct cmdline *c, uint64_t given, const char *name)
{
	size_t i;

	for (i = 0; i < c->nr_options; i++)
		if (c->options[i].name && !strcmp(c->options[i].name, name))
			return given >> i & 1;
	return false;
}
