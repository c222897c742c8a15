/* SPDX-License-Identifier: MIT */
/*
 * split_journal.h - the memory file that xpuload passes to "xpumerge split"
 *
 * xpuload starts "xpumerge split" again if it dies. The first process gets an empty file, and each
 * later process gets the file as its predecessor left it. At the end xpuload reads the counts at
 * the beginning of the file. The rest is for xpumerge only, see merge/stream/journal.h.
 */
#ifndef LIB_SPLIT_JOURNAL_H
#define LIB_SPLIT_JOURNAL_H

#include <stdint.h>

struct split_journal {
	uint64_t nr_lost_files;		/* number of files that were not written, or only in part */
	uint64_t nr_lost_bytes;		/* bytes of records that those files lack */
	uint64_t nr_lost_launches;	/* number of launches among these records */
	uint64_t nr_files, nr_bytes;	/* number and size of the files that were written whole */
	uint64_t failing;		/* not 0: the most recent file could not be written */
	/* For --push, see merge/profiles.h. */
	struct profile_counts {
		uint64_t nr_made, nr_sent, nr_lost;	/* profiles */
		uint64_t nr_unknown;	/* number of profiles that were perhaps not sent: the
					 * process that knew was killed */
		uint64_t nr_unmerged;	/* number of files from which no profiles were made */
		uint64_t nr_unknown_files;	/* number of files for which profiles may have been
						 * made */
	} profiles;
};

#endif /* LIB_SPLIT_JOURNAL_H */
