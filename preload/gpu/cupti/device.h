/* SPDX-License-Identifier: MIT */
/* device.h - describes the GPUs that streams belong to; under the lock of sender.h */
#ifndef XPU_PRELOAD_CUPTI_DEVICE_H
#define XPU_PRELOAD_CUPTI_DEVICE_H

#include <stdint.h>

/*
 * Finds the driver's functions. Called when recording begins, because later another thread may hold
 * the dynamic loader's lock for a long time, even while that thread waits for the shim.
 */
void device__find_driver(void);

/* Defines the device on its first use. Return: the id of the stream, from wire__stream(). */
uint32_t device__stream(uint32_t device, uint32_t context, uint32_t stream);

#endif /* XPU_PRELOAD_CUPTI_DEVICE_H */
