// SPDX-License-Identifier: GPL-3.0-or-later
#include "output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/msg.h"

#define MAX_NUMBER	1000000

/* A name under construction. */
struct name {
	FILE *f;
	pid_t pid;
	unsigned int number;
	bool row;			/* the name is for a series, and keeps %n for the number */
	bool numbered;			/* the pattern contains %n or %i */
};

/* Writes text. Doubles percent signs in the name of a series. */
static void put_text(struct name *n, const char *text)
{
	for (; *text; text++) {
		putc(*text, n->f);
		if (*text == '%' && n->row)
			putc('%', n->f);
	}
}

/*
 * Writes the value of the variable in "q{VAR}". Return: where the pattern continues, or NULL after
 * a message.
 */
static const char *put_variable(const char *at, struct name *n)
{
	const char *end = at[1] == '{' ? strchr(at, '}') : NULL, *value = NULL;
	char *name;

	if (!end || end == at + 2) {
		msg__error("-o: %%q: expected the name of a variable, such as %%q{SLURM_PROCID}");
		return NULL;
	}
	name = strndup(at + 2, end - at - 2);
	if (name)
		value = getenv(name);
	if (value)
		put_text(n, value);
	else
		msg__error("-o: %%q{%s}: %s", name ? name : "",
			   name ? "the variable is not set" : "out of memory");
	free(name);
	return value ? end + 1 : NULL;
}

static void put_host(struct name *n)
{
	struct utsname u;

	put_text(n, uname(&u) ? "localhost" : u.nodename);
}

static void put_number(struct name *n)
{
	if (n->row)
		fputs("%n", n->f);
	else
		fprintf(n->f, "%u", n->number);
	n->numbered = true;
}

/* Expands a whole pattern. Return: whether the pattern is valid. */
static bool put_all(const char *at, struct name *n)
{
	n->numbered = false;
	while (at && *at) {
		if (*at != '%') {
			putc(*at++, n->f);
			continue;
		}
		switch (*++at) {
		case '%':
			put_text(n, "%");
			at++;
			break;
		case 'h':
			put_host(n);
			at++;
			break;
		case 'p':
			fprintf(n->f, "%d", (int)n->pid);
			at++;
			break;
		case 'n':
		case 'i':
			put_number(n);
			at++;
			break;
		case 'q':
			at = put_variable(at, n);
			break;
		default:
			msg__error("-o: %%%.1s: expected one of %%h (host), %%p (pid), %%n and %%i "
				   "(number), %%q{VAR} and %%%% (a percent sign)", at);
			return false;
		}
	}
	if (at && n->row && !n->numbered)
		fputs(".%n", n->f);
	return at;
}

static bool has_letter(const char *pattern, char letter)
{
	const char *at;

	for (at = strchr(pattern, '%'); at && at[1]; at = strchr(at + 2, '%'))
		if (at[1] == letter)
			return true;
	return false;
}

bool output_name__has_number(const char *pattern)
{
	return has_letter(pattern, 'n') || has_letter(pattern, 'i');
}

bool output_name__has_pid(const char *pattern)
{
	return has_letter(pattern, 'p');
}

/* Makes one name. Return: 0, with *@text for the caller to free(); -ENOMEM or -EINVAL. */
static int name__make(struct name *n, const char *pattern, char **text)
{
	size_t size;
	bool put, whole;

	*text = NULL;
	n->f = open_memstream(text, &size);
	if (!n->f)
		return -ENOMEM;
	put = put_all(pattern, n);
	whole = !ferror(n->f);
	if (!fclose(n->f) && whole && put && *text)
		return 0;
	free(*text);
	return put ? -ENOMEM : -EINVAL;
}

int output_name__expand(const char *pattern, pid_t pid, char **name)
{
	struct name n = { .pid = pid };
	int err;

	for (n.number = 1; n.number <= MAX_NUMBER; n.number++) {
		err = name__make(&n, pattern, name);
		if (err)
			return err;
		/*
		 * access() checks with the invoker's rights: the name must not reveal files that
		 * only root may see.
		 */
		if (!n.numbered || !pid || access(*name, F_OK))
			return 0;
		free(*name);
	}
	return msg__error("-o %s: all numbers are taken", pattern);
}

int output_name__expand_row(const char *pattern, pid_t pid, char **names)
{
	struct name n = { .pid = pid, .row = true };

	return name__make(&n, pattern, names);
}

char *output_name__of_row(const char *names, unsigned int number)
{
	struct name n = { .number = number };
	char *name;

	return name__make(&n, names, &name) ? NULL : name;
}
