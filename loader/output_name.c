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

/* Puts the value of the variable that "q{VAR}" names. Return: what follows, or NULL after a message. */
static const char *put_variable(const char *at, FILE *f)
{
	const char *end = at[1] == '{' ? strchr(at, '}') : NULL, *value = NULL;
	char *name;

	if (!end || end == at + 2) {
		msg__error("-o: %%q wants the name of a variable: %%q{SLURM_PROCID}");
		return NULL;
	}
	name = strndup(at + 2, end - at - 2);
	if (name)
		value = getenv(name);
	if (value)
		fputs(value, f);
	else
		msg__error("-o: %%q{%s}: %s", name ? name : "",
			   name ? "there is no such variable" : "out of memory");
	free(name);
	return value ? end + 1 : NULL;
}

static void put_host(FILE *f)
{
	struct utsname u;

	fputs(uname(&u) ? "localhost" : u.nodename, f);
}

/* Return: whether all of it could be put. @numbered: it has a number in it */
static bool put_all(const char *at, pid_t pid, unsigned int number, bool *numbered, FILE *f)
{
	*numbered = false;
	while (at && *at) {
		if (*at != '%') {
			putc(*at++, f);
			continue;
		}
		switch (*++at) {
		case '%':
			putc(*at++, f);
			break;
		case 'h':
			put_host(f);
			at++;
			break;
		case 'p':
			fprintf(f, "%d", (int)pid);
			at++;
			break;
		case 'n':
		case 'i':
			fprintf(f, "%u", number);
			*numbered = true;
			at++;
			break;
		case 'q':
			at = put_variable(at, f);
			break;
		default:
			msg__error("-o: %%%.1s is none of %%h (host), %%p (pid), %%n and %%i (number), "
				   "%%q{VAR} and %%%% (a percent sign)", at);
			return false;
		}
	}
	return at;
}

bool output_name__has_pid(const char *pattern)
{
	const char *at;

	for (at = strchr(pattern, '%'); at && at[1]; at = strchr(at + 2, '%'))
		if (at[1] == 'p')
			return true;
	return false;
}

int output_name__expand(const char *pattern, pid_t pid, char **name)
{
	bool numbered, whole;
	unsigned int number;
	size_t size;
	FILE *f;

	for (number = 1; number <= MAX_NUMBER; number++) {
		*name = NULL;
		f = open_memstream(name, &size);
		if (!f)
			return -ENOMEM;
		if (!put_all(pattern, pid, number, &numbered, f)) {
			fclose(f);
			free(*name);
			return -EINVAL;
		}
		whole = !ferror(f);
		if (fclose(f) || !whole || !*name) {
			free(*name);
			return -ENOMEM;
		}
		/* As the user who called: what others may see is not to be found out. */
		if (!numbered || !pid || access(*name, F_OK))
			return 0;
		free(*name);
	}
	msg__error("-o %s: all numbers are taken", pattern);
	return -EINVAL;
}
