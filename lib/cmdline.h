/* SPDX-License-Identifier: MIT */
/*
 * cmdline.h - the table of a program's options: parsing, --help and messages come from it
 *
 * To add an option: its row in the table of loader/options.c or merge/options.c, and its entry in the
 * manual page, which a test compares with the table. Shell completion follows.
 */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMDLINE_MAX_NAME	32	/* of an option or a suffix that could be meant */
#define CMDLINE_MAX_OPTIONS	64	/* each has a bit in an uint64_t */

struct cmdline;
struct cmdline_option;

/* An option on the command line. */
struct cmdline_given {
	const struct cmdline *cmdline;
	const struct cmdline_option *option;
	const char *arg;		/* NULL: there is none */
	int argc;			/* a function may take the words from argv[optind] on, too */
	char **argv;
};

/* Return: 0, CMDLINE_DONE, or -errno after printing the error; @target: as given to cmdline__parse(). */
typedef int cmdline_set_fn(void *target, const struct cmdline_given *given);

struct cmdline_option {
	const char *name;		/* without dashes; NULL: it has a letter only */
	char letter;			/* 0: none */
	const char *arg;		/* its argument in --help; NULL: it takes none; "[=x]": it may */
	cmdline_set_fn *set;
	size_t member;			/* of the target: the functions below set it */
	const char *const *names;	/* its argument is one of these, up to a NULL */
	const char *const *(*get_names)(void);	/* in place of @names, if they are no constant */
	uint32_t min, max;		/* of a number */
	uint32_t value;			/* for @set */
	bool many;			/* adds to those before; else a second one that differs is refused */
	uint32_t use, group;		/* for the program */

	/*
	 * Lines, without the last \n; NULL: the next option's help is about this one, too. In place
	 * of "%s" comes the text that @list makes or, without it, the names.
	 */
	const char *help;
	void (*list)(char *buf, size_t size);
};

/* A word of another tool that people may try here. */
struct cmdline_habit {
	const char *word;		/* an option with its dashes, or a command; NULL: the last */
	const char *here;		/* the replacement, to follow "there is no option X: " */
};

struct cmdline {
	const char *version;		/* "PROGRAM VERSION" */
	const char *usage, *footer;	/* the text of --help before and after the options */
	unsigned int column, columns;	/* where the help of an option begins, and a line ends */
	bool stop_at_word;		/* the first word that is no option ends them */
	const struct cmdline_option *options;
	size_t nr_options;
	const char *const *commands;	/* words that may come first, up to a NULL */
	const struct cmdline_habit *habits;
	void (*error)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* Prints that @arg is not one of the names of @option, or not a number from min to max. */
	void (*invalid)(const struct cmdline_option *option, const char *arg);
};

#define CMDLINE_DONE	1		/* --help and the like: nothing else is to be done */

/**
 * cmdline__parse - set the members of @target that the options on the command line are for
 * @given: bits of the options that are there, by their places in the table; or NULL
 *
 * optind is then the place of the first word that is no option. "--list-options" as the only
 * argument lists the table for scripts: lines "option NAME LETTER ARGUMENT [VALUE...]", with "-" for
 * what is missing, and "command WORD".
 *
 * Return: 0, CMDLINE_DONE, or -errno with all said.
 */
int cmdline__parse(const struct cmdline *c, void *target, int argc, char **argv, uint64_t *given);

/* Return: whether @given, of cmdline__parse(), has the option @name. */
bool cmdline__has(const struct cmdline *c, uint64_t given, const char *name);

/* Return: the text that stands in place of @word, or NULL. */
const char *cmdline__habit(const struct cmdline_habit *habits, const char *word);

/*
 * Return: how many letters must be put in, taken out or replaced to make one of the other. @b: of at most
 * CMDLINE_MAX_NAME letters
 */
size_t cmdline__distance(const char *a, const char *b);

/* Joins @names, up to a NULL: "a, b and c", if @last is " and ". */
void cmdline__join(char *buf, size_t size, const char *const *names, const char *last);

/* Return: the names that the argument of @option can be, or NULL. */
const char *const *cmdline__names(const struct cmdline_option *option);

/* Return: which of the option's names @word is, or -EINVAL after printing the error. */
int cmdline__find_name(const struct cmdline_given *given, const char *word);

/* ---- what a row has: its function and the member of struct options ---------------------------- */

cmdline_set_fn cmdline__set_flag, cmdline__set_value, cmdline__set_string, cmdline__set_number,
	       cmdline__set_name, cmdline__set_word, cmdline__version, cmdline__help;

/* Fails to compile if the member has another type. */
#define CMDLINE_MEMBER(type, m)	\
	(offsetof(struct options, m) + 0 * _Generic(&((struct options *)0)->m, type *: 1))

/* bool: true */
#define CMDLINE_FLAG(m)		.set = cmdline__set_flag, .member = CMDLINE_MEMBER(bool, m)
/* unsigned int or an enum: @v */
#define CMDLINE_VALUE(m, v)	.set = cmdline__set_value, .value = v, \
				.member = CMDLINE_MEMBER(unsigned int, m)
/* const char *: the argument */
#define CMDLINE_STRING(m)	.set = cmdline__set_string, .member = CMDLINE_MEMBER(const char *, m)
/* uint32_t: the argument is a number; RANGE: for a function that calls cmdline__set_number() */
#define CMDLINE_NUMBER(m, least, most)	.set = cmdline__set_number, CMDLINE_RANGE(m, least, most)
#define CMDLINE_RANGE(m, least, most)	.min = least, .max = most, \
				.member = CMDLINE_MEMBER(uint32_t, m)
/* unsigned int or an enum: the argument's place among the names */
#define CMDLINE_NAME(m, list)	.set = cmdline__set_name, .names = list, \
				.member = CMDLINE_MEMBER(unsigned int, m)
/* const char *: the argument, which is one of the names */
#define CMDLINE_WORD(m)		.set = cmdline__set_word, .member = CMDLINE_MEMBER(const char *, m)

#endif /* LIB_CMDLINE_H */
