/* SPDX-License-Identifier: MIT */
/*
 * sender.h - the lock of wire.h, functions that hold it briefly, and the wakeup of the shim's
 * thread
 */
#ifndef XPU_PRELOAD_SENDER_H
#define XPU_PRELOAD_SENDER_H

#include <signal.h>
#include <stdint.h>

#include "xpu_record.h"

/* Initializes this module, before its other functions are called. */
void sender__init(void);

/* Takes the lock. Signals are blocked while it is held. @old: for sender__unlock() */
void sender__lock(sigset_t *old);
void sender__unlock(const sigset_t *old);

/* Calls @pack under the lock, so @pack may use wire.h. */
void sender__pack(void (*pack)(void *ctx), void *ctx);

/* Sends a line for the user. @level: XPU_MESSAGE_* */
void sender__message(int level, const char *text);

/* Defines the name of an API function in the records. */
void sender__name_api(uint32_t domain, uint32_t number, enum xpu_call_class class,
		      const char *name);

/* Waits until there is something to send, or @timeout_ns have passed. For the shim's thread. */
void sender__wait(long timeout_ns);

/* Ends sender__wait(). May be called on any thread, also in signal handlers. */
void sender__wake(void);

#endif /* XPU_PRELOAD_SENDER_H */
