/* SPDX-License-Identifier: MIT */
/*
 * states.h - wakes vendors, and makes them dormant, as listeners come and go
 *
 *   dormant    the process uses a GPU, but nobody listens, and the vendor's library is not opened
 *   awake      somebody listens; launches are tagged, and device work is collected
 *   failed     the vendor could not become awake, for a reason that is reported once
 */
#ifndef XPU_PRELOAD_STATES_H
#define XPU_PRELOAD_STATES_H

#include <stdbool.h>

struct vendor;

/* Set when the process ends, or in a forked child: the states no longer change. */
extern bool states__over;

/* Checks who listens, and changes the states accordingly. Under capture__lock(). */
void states__follow(void);

/* ---- for vendors ---- */

/* Whether @vendor is awake. For the shim's thread. */
bool states__is_awake(const struct vendor *vendor);

/*
 * Only the shim's thread calls these. states__wake() wakes @vendor if it is dormant and somebody
 * listens; states__doze() makes it dormant. After a vendor has gone dormant, its may_open() says
 * when it can be woken again.
 */
void states__wake(const struct vendor *vendor);
void states__doze(const struct vendor *vendor);

/* Sends everything recorded so far, because @vendor reports nothing more for now. */
void states__drain_last(const struct vendor *vendor);

#endif /* XPU_PRELOAD_STATES_H */
