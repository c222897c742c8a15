/* SPDX-License-Identifier: MIT */
/* program.h - what the program itself has registered with CUPTI, and whether it is calling CUPTI */
#ifndef XPU_PRELOAD_PROGRAM_H
#define XPU_PRELOAD_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

/* The callbacks for buffers that the program has registered, or NULL. */
void program__callbacks(CUpti_BuffersCallbackRequestFunc *request,
			CUpti_BuffersCallbackCompleteFunc *complete);
void program__set_callbacks(CUpti_BuffersCallbackRequestFunc request,
			    CUpti_BuffersCallbackCompleteFunc complete);

/* The clock that the program has registered, or NULL. */
CUpti_TimestampCallbackFunc program__clock(void);
void program__set_clock(CUpti_TimestampCallbackFunc clock);

/* Notes what CUPTI has done; the kinds of activity that CUPTI has enabled for the program, a bit each. */
void program__note_kind(CUpti_ActivityKind kind, bool on);
uint64_t program__kinds(void);

/* A call of the program that sets CUPTI up begins or ends. */
void program__call_begins(void);
void program__call_ends(void);

/* Whether a thread is in such a call, or was in one just now. */
bool program__is_calling(void);

#endif /* XPU_PRELOAD_PROGRAM_H */
