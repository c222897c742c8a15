// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture_opts.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "xpu_slot.h"

#define MAX_SECONDS	1e9

static int check_regex(const char *text)
{
	regex_t regex;
	char what[128];
	int err;

	if (!*text)
		return msg__error("--capture " XPU_CAPTURE_NVTX "REGEX: expected a regular "
				  "expression for the NAME or DOMAIN:NAME of a range");
	if (strlen(text) > XPU_CAPTURE_REGEX_MAX || xpu_capture__refers_back(text))
		return msg__error("--capture " XPU_CAPTURE_NVTX "REGEX: expected at most %d bytes, "
				  "without back-references such as \\1: a slow expression would "
				  "slow down the program", XPU_CAPTURE_REGEX_MAX);
	err = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
	if (!err) {
		regfree(&regex);
		return 0;
	}
	regerror(err, &regex, what, sizeof(what));
	return msg__error("--capture " XPU_CAPTURE_NVTX "%.60s: %s", text, what);
}

static bool take_number(const char **at, unsigned long *n)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*n = strtoul(*at, &end, 10);
	*at = end;
	return !errno && *n && *n < UINT32_MAX;
}

static int check_launches(const char *text)
{
	unsigned long first = 0, last;
	const char *at = text;
	bool good = take_number(&at, &first);

	last = first;
	if (good && *at == '-' && at[1])
		at++, good = take_number(&at, &last);
	else if (good && *at == '-')
		at++;
	if (good && !*at && last >= first)
		return 0;
	return msg__error("--capture " XPU_CAPTURE_LAUNCH "%s: expected numbers from 1: N, N- or "
			  "N-M", text);
}

/* Parses "after:S", "for:S", or both, separated by a comma. Return: whether @arg is valid. */
static bool parse_clock(struct capture_opts *c, const char *arg)
{
	bool after = false, is_for = false;
	double seconds;
	char *end;

	c->after_ns = c->for_ns = 0;
	for (;; arg = end + 1) {
		if (!strncmp(arg, "after:", 6) && !after)
			after = true, arg += 6;
		else if (!strncmp(arg, "for:", 4) && !is_for)
			is_for = true, arg += 4;
		else
			return false;
		seconds = strtod(arg, &end);
		if (end == arg || !(seconds >= 0 && seconds <= MAX_SECONDS) ||
		    (*end && *end != ','))
			return false;
		if (is_for && !c->for_ns) {
			c->for_ns = seconds * 1e9;
			if (!c->for_ns)
				return false;
		} else {
			c->after_ns = seconds * 1e9;
		}
		if (!*end)
			return true;
	}
}

int capture_opts__parse(struct capture_opts *c, const char *arg)
{
	int err = 0;

	if (!strncmp(arg, "after:", 6) || !strncmp(arg, "for:", 4)) {
		c->what = NULL;
		if (parse_clock(c, arg))
			return 0;
		return msg__error("--capture %s: expected after:SECONDS,for:SECONDS or one of the "
				  "two", arg);
	}
	c->after_ns = UINT64_MAX;

	if (!strncmp(arg, XPU_CAPTURE_NVTX, strlen(XPU_CAPTURE_NVTX))) {
		err = check_regex(arg + strlen(XPU_CAPTURE_NVTX));
	} else if (!strncmp(arg, XPU_CAPTURE_LAUNCH, strlen(XPU_CAPTURE_LAUNCH))) {
		err = check_launches(arg + strlen(XPU_CAPTURE_LAUNCH));
	} else if (strcmp(arg, XPU_CAPTURE_PROFILER)) {
		msg__error("--capture %s: expected " XPU_CAPTURE_PROFILER ", " XPU_CAPTURE_NVTX
			   "REGEX, " XPU_CAPTURE_LAUNCH "N-M or after:S,for:S",
			   arg);
		err = -EINVAL;
	}
	c->what = err ? NULL : arg;
	return err;
}

int capture_opts__parse_end(struct capture_opts *c, const char *arg)
{
	unsigned long most = 0;

	c->each = !strncmp(arg, "repeat", 6) && (!arg[6] || arg[6] == ':');
	c->most = !strcmp(arg, "stop");
	if (!strcmp(arg, "together") || c->most || (c->each && !arg[6]))
		return 0;
	arg += c->each ? 7 : 0;
	if (c->each && take_number(&arg, &most) && !*arg) {
		c->most = most;
		return 0;
	}
	if (!strcmp(arg, "none"))
		msg__error("--capture-end none: only windows of launch:N- and after:S have no end");
	else if (!strncmp(arg, "stop-shutdown", 13) || !strncmp(arg, "repeat-shutdown", 15))
		msg__error("--capture-end %s: xpuload does not end programs: expected stop or "
			   "repeat:N",
			   arg);
	else
		msg__error("--capture-end: expected together, stop, repeat, or repeat:N with N "
			   "of 1 or more");
	return -EINVAL;
}

int capture_opts__set_environment(const struct capture_opts *c)
{
	char most[32] = "", *value;
	int err;

	if (!c->what)
		return 0;
	if (c->most)
		snprintf(most, sizeof(most), XPU_CAPTURE_MOST "%u,", c->most);
	if (asprintf(&value, "%s%s", most, c->what) < 0)
		return -ENOMEM;
	err = setenv(XPU_CAPTURE_ENV, value, 1);
	free(value);
	return err ? -errno : 0;
}
