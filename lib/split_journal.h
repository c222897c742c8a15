/* SPDX-License-Identifier: MIT */
/*
 * split_journal.h - the memory file that xpuload gives to "xpumerge split"
 *
 * It begins with what xpuload reads at the end. All behind it is that program's own: see
 * merge/stream/journal.h. It is empty for the first child, and as the last one left it for each that follows.
 */
#ifndef LIB_SPLIT_JOURNAL_H
#define LIB_SPLIT_JOURNAL_H

#include <stdint.h>

struct split_journal {
	uint64_t nr_lost_files;		/* that could not be written, or only their beginnings */
	uint64_t nr_lost_bytes;		/* of records that belonged there */
	uint64_t failing;		/* the last file is one of them */
	/* With --push, see merge/profiles.h. */
	struct profile_counts {
		uint64_t nr_made, nr_sent, nr_lost;	/* profiles */
		uint64_t nr_unknown;	/* that may have been sent: who knew was killed */
		uint64_t nr_unmerged;	/* files that no profiles were made of */
		uint64_t nr_unknown_files;	/* whose profiles may have been made, or some of them */
	} profiles;
};

#endif /* LIB_SPLIT_JOURNAL_H */
