/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page_json.h - arrays in the data of the html page */
#ifndef MERGE_PAGE_JSON_H
#define MERGE_PAGE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "json_out.h"

/* Prints a number of an array. The lines are short, for people who open the file in an editor. */
static inline void page__number(struct json_out *j, size_t i, uint64_t n)
{
	if (i && i % 64 == 0)
		json_out__line(j, 0);
	json_out__u64(j, n);
}

/* Opens a member that is an array; the caller closes it. */
static inline void page__open_array(struct json_out *j, const char *key)
{
	json_out__key(j, key);
	json_out__open(j, '[');
}

/* Closes an array, and opens the next array on a new line. */
static inline void page__next_array(struct json_out *j, const char *key)
{
	json_out__close(j, ']');
	json_out__line(j, 0);
	page__open_array(j, key);
}

#endif /* MERGE_PAGE_JSON_H */
