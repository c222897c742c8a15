/* SPDX-License-Identifier: MIT */
/* program.h - the program's own use of CUPTI: its callbacks, clock, kinds and calls in progress */
#ifndef XPU_PRELOAD_PROGRAM_H
#define XPU_PRELOAD_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

/* Return: the callbacks for buffers that the program has registered, or NULL. */
void program__callbacks(CUpti_BuffersCallbackRequestFunc *request,
			CUpti_BuffersCallbackCompleteFunc *complete);
void program__set_callbacks(CUpti_BuffersCallbackRequestFunc request,
			    CUpti_BuffersCallbackCompleteFunc complete);

/* The clock that the program has registered, or NULL. */
CUpti_TimestampCallbackFunc program__clock(void);
void program__set_clock(CUpti_TimestampCallbackFunc clock);

/*
 * Notes that CUPTI has enabled or disabled @kind for the program; program__kinds() is a mask of the
 * enabled kinds.
 */
void program__note_kind(CUpti_ActivityKind kind, bool on);
uint64_t program__kinds(void);

/* Note the beginning and the end of a call by which the program sets CUPTI up. */
void program__call_begins(void);
void program__call_ends(void);

/* Whether a thread is in a call that sets CUPTI up, or has just left such a call. */
bool program__is_calling(void);

#endif /* XPU_PRELOAD_PROGRAM_H */
