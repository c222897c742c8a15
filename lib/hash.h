/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash, as merge/ uses it
 *
 * If memory is short, HASH_ADD does not add the entry, and sets a variable oom, which the caller
 * must declare.
 */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM		1
#define uthash_nonfatal_oom(e)		(oom = true)
#include <uthash.h>

/* Adds an entry that is zero except for its key. Return: the entry, or NULL. */
#define HASH_NEW(head, member, value) ({				\
	typeof(head) new_ = calloc(1, sizeof(*new_));			\
	bool oom = false;						\
									\
	if (new_) {							\
		new_->member = (value);					\
		HASH_ADD(hh, head, member, sizeof(new_->member), new_);	\
	}								\
	if (oom) {							\
		free(new_);						\
		new_ = NULL;						\
	}								\
	new_; })

/* Finds the entry whose key is the number @value, or adds it. Return: the entry, or NULL. */
#define HASH_GET(head, member, value) ({				\
	typeof((head)->member) key_ = (value);				\
	typeof(head) entry_;						\
									\
	HASH_FIND(hh, head, &key_, sizeof(key_), entry_);		\
	entry_ ?: HASH_NEW(head, member, key_); })

#endif /* LIB_HASH_H */
