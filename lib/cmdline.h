/* SPDX-License-Identifier: MIT */
/*
 * cmdline.h - the table of a program's options: parsing, --help and messages come from it
 *
 * To add an option, add a row to the table in loader/options.c or merge/options.c, and an entry to
 * the manual page, which a test compares with the table. Shell completion follows the table.
 */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMDLINE_MAX_NAME	32	/* maximum length of an option or suffix that can be
					 * suggested */
#define CMDLINE_MAX_OPTIONS	64	/* each option has a bit in a uint64_t */

struct cmdline;
struct cmdline_option;

/* An option on the command line. */
struct cmdline_given {
	const struct cmdline *cmdline;
	const struct cmdline_option *option;
	const char *arg;		/* NULL if the option has no argument */
	int argc;			/* for functions that also use argv[optind] and the
					 * words after it */
	char **argv;
};

/*
 * Sets the value of an option. @target: as passed to cmdline__parse(). Return: 0, CMDLINE_DONE, or
 * -errno after printing the error.
 */
typedef int cmdline_set_fn(void *target, const struct cmdline_given *given);

struct cmdline_option {
	const char *name;		/* without dashes; NULL if the option has only a letter */
	char letter;			/* 0: none */
	const char *arg;		/* argument in --help, or NULL; "[=x]" is optional */
	cmdline_set_fn *set;
	size_t member;			/* offset in @target of the member that @set sets */
	const char *const *names;	/* the allowed arguments, NULL-terminated */
	const char *const *(*get_names)(void);	/* replaces @names if they are not constant */
	uint32_t min, max;		/* limits of a numeric argument */
	uint32_t value;			/* a value that @set uses */
	bool many;			/* may be repeated; false: only with the same argument */
	uint32_t use, group;		/* for the program's own purposes */

	/*
	 * The lines of help, without the last \n. NULL if the next option's help covers this
	 * option, too. "%s" stands for the text that @list makes, or, if @list is NULL, for the
	 * names.
	 */
	const char *help;
	void (*list)(char *buf, size_t size);
	const char *heading;		/* a line that --help prints before this row */
};

/* An option or command of another tool that users may try here. */
struct cmdline_habit {
	const char *word;		/* an option with dashes, or a command; NULL at the end */
	const char *here;		/* the text to print after "there is no option X: " */
};

struct cmdline {
	const char *version;		/* "PROGRAM VERSION" */
	const char *usage, *footer;	/* the text of --help before and after the options */
	unsigned int column, columns;	/* columns where help begins, and where lines end */
	bool stop_at_word;		/* the first word that is not an option ends the options */
	const struct cmdline_option *options;
	size_t nr_options;
	const char *const *commands;	/* words that may come first, such as "top",
					 * NULL-terminated */
	const struct cmdline_habit *habits;
	int (*error)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* Prints that @arg is not one of the names of @option, or not a number from min to max. */
	void (*invalid)(const struct cmdline_option *option, const char *arg);
};

#define CMDLINE_DONE	1		/* after --help and the like: the program should end now */

/**
 * cmdline__parse - set the members of @target from the options of a command line
 * @given: NULL, or set to a mask of the options that were given: bit i stands for row i of the
 *	table
 *
 * optind is then the index of the first word that is not an option. "--list-options" as the only
 * argument lists the table for scripts, in lines "option NAME LETTER ARGUMENT [VALUE...]", where
 * "-" means none, and "command WORD".
 *
 * Return: 0, CMDLINE_DONE, or -errno after printing the error.
 */
int cmdline__parse(const struct cmdline *c, void *target, int argc, char **argv, uint64_t *given);

/* Return: whether the option @name is in @given, which cmdline__parse() set. */
bool cmdline__has(const struct cmdline *c, uint64_t given, const char *name);

/* Return: the replacement for @word in this program, or NULL. */
const char *cmdline__habit(const struct cmdline_habit *habits, const char *word);

/*
 * Return: how many letters must be inserted, removed or replaced to turn @a into @b. @b may have at
 * most CMDLINE_MAX_NAME letters.
 */
size_t cmdline__distance(const char *a, const char *b);

/*
 * Return: the name in the NULL-terminated list @names that is nearest to @typed; NULL if none is
 * near.
 */
const char *cmdline__nearest(const char *const *names, const char *typed);

/*
 * Puts "perhaps rank; expected comm, rank or tid" into @buf, for an option whose argument is one of
 * several names.
 */
void cmdline__expect(char *buf, size_t size, const struct cmdline_option *option,
		     const char *typed);

/* Joins the NULL-terminated list @names, as in "a, b and c" where @last is " and ". */
void cmdline__join(char *buf, size_t size, const char *const *names, const char *last);

/* Return: the allowed arguments of @option, NULL-terminated; NULL if any argument is allowed. */
const char *const *cmdline__names(const struct cmdline_option *option);

/* Return: the index of @word among the option's names, or -EINVAL after printing the error. */
int cmdline__find_name(const struct cmdline_given *given, const char *word);

/* ---- a row names its function and its member of struct options ------------------------------- */

cmdline_set_fn cmdline__set_flag, cmdline__set_value, cmdline__set_string, cmdline__set_number,
	       cmdline__set_name, cmdline__set_word, cmdline__version, cmdline__help;

/* Fails to compile if the member has another type. */
#define CMDLINE_MEMBER(type, m)	\
	(offsetof(struct options, m) + 0 * _Generic(&((struct options *)0)->m, type *: 1))

/* Sets a bool to true. */
#define CMDLINE_FLAG(m)		.set = cmdline__set_flag, .member = CMDLINE_MEMBER(bool, m)
/* Sets an unsigned int or an enum to @v. */
#define CMDLINE_VALUE(m, v)	.set = cmdline__set_value, .value = v, \
				.member = CMDLINE_MEMBER(unsigned int, m)
/* Sets a const char * to the argument. */
#define CMDLINE_STRING(m) \
	.set = cmdline__set_string, .member = CMDLINE_MEMBER(const char *, m)
/*
 * CMDLINE_NUMBER sets a uint32_t to the argument. CMDLINE_RANGE is for a row whose own function
 * calls cmdline__set_number().
 */
#define CMDLINE_NUMBER(m, least, most)	.set = cmdline__set_number, CMDLINE_RANGE(m, least, most)
#define CMDLINE_RANGE(m, least, most)	.min = least, .max = most, \
				.member = CMDLINE_MEMBER(uint32_t, m)
/* Sets an unsigned int or an enum to the argument's index among the names. */
#define CMDLINE_NAME(m, list)	.set = cmdline__set_name, .names = list, \
				.member = CMDLINE_MEMBER(unsigned int, m)
/* Sets a const char * to the argument, which must be one of the names. */
#define CMDLINE_WORD(m)		.set = cmdline__set_word, .member = CMDLINE_MEMBER(const char *, m)

#endif /* LIB_CMDLINE_H */
