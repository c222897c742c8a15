/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * entry_table.h - hash tables of allocated entries, by uthash
 *
 * An entry has a UT_hash_handle named hh, and its key in one member. Every byte of the key must be
 * set, including padding.
 */
#ifndef XPU_LOADER_ENTRY_TABLE_H
#define XPU_LOADER_ENTRY_TABLE_H

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Sets @e to the entry whose @key_member is @key, or NULL. */
#define table_find(head, key_member, key, e)					\
do {										\
	const __typeof__((e)->key_member) key_ = (key);				\
										\
	HASH_FIND(hh, head, &key_, sizeof(key_), e);				\
} while (0)

/*
 * Sets @e to the entry whose @key_member is @key, or to a new entry with all other members 0, or to
 * NULL if memory runs out.
 */
#define table_get(head, key_member, key, e)					\
do {										\
	const __typeof__((e)->key_member) want_ = (key);			\
										\
	table_find(head, key_member, want_, e);					\
	if (!(e) && ((e) = calloc(1, sizeof(*(e))))) {				\
		(e)->key_member = want_;					\
		HASH_ADD(hh, head, key_member, sizeof(want_), e);		\
		if (!(e)->hh.tbl) {						\
			free(e);						\
			(e) = NULL;						\
		}								\
	}									\
} while (0)

#define table_remove(head, e)							\
do {										\
	HASH_DEL(head, e);							\
	free(e);								\
} while (0)

/* Frees all entries; @free_inside(e) frees the things that an entry owns. */
#define table_free(head, free_inside)						\
do {										\
	__typeof__(head) e_, next_;						\
										\
	HASH_ITER(hh, head, e_, next_) {					\
		free_inside(e_);						\
		table_remove(head, e_);						\
	}									\
} while (0)

#define table_free_nothing(e)	((void)(e))

#endif /* XPU_LOADER_ENTRY_TABLE_H */
