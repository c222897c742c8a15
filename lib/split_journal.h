/* SPDX-License-Identifier: MIT */
/*
 * split_journal.h - the memory file that xpuload passes to "xpumerge split"
 *
 * xpuload starts "xpumerge split" again if it dies. The first one gets an empty file, and each
 * later one the file as its predecessor left it. At the end xpuload reads the counts at its
 * beginning. The rest belongs to xpumerge, see merge/stream/journal.h.
 */
#ifndef LIB_SPLIT_JOURNAL_H
#define LIB_SPLIT_JOURNAL_H

#include <stdint.h>

struct split_journal {
	uint64_t nr_lost_files;		/* not written, or only their beginnings */
	uint64_t nr_lost_bytes;		/* bytes of records that those files lack */
	uint64_t failing;		/* the last file is among the lost ones */
	/* For --push, see merge/profiles.h. */
	struct profile_counts {
		uint64_t nr_made, nr_sent, nr_lost;	/* profiles */
		uint64_t nr_unknown;	/* possibly sent: the process that knew was killed */
		uint64_t nr_unmerged;	/* files from which no profiles were made */
		uint64_t nr_unknown_files;	/* files with profiles possibly made */
	} profiles;
};

#endif /* LIB_SPLIT_JOURNAL_H */
