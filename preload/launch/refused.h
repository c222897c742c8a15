/* SPDX-License-Identifier: MIT */
/*
 * refused.h - reports launches that the API refused, and copies of no bytes: no device work follows
 * them, so readers must not wait for it
 */
#ifndef XPU_PRELOAD_REFUSED_H
#define XPU_PRELOAD_REFUSED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Notes that launch @correlation_id of @api has failed or copied no bytes. @result: the API's
 * error, whose lower 28 bits are kept as a signed number, or XPU_REFUSED_NO_BYTES. May be called on
 * any thread, and in signal handlers.
 */
void refused__add(unsigned int api, uint32_t correlation_id, uint32_t result);

/* Packs the refused launches, under the lock of sender.h. Return: whether there were any. */
bool refused__drain(void);

#endif /* XPU_PRELOAD_REFUSED_H */
