/* SPDX-License-Identifier: MIT */
/*
 * A library that looks like CPython from outside, to test the shim with a CPython of an unknown
 * version, or with a CPython whose memory does not fit its version.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

void *PyGILState_GetThisThreadState(void);

EXPORT uint64_t PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
EXPORT uint64_t _PyRuntime[256];
EXPORT unsigned long Py_Version;
EXPORT void *fake_tstate;

EXPORT void *PyGILState_GetThisThreadState(void)
{
	return fake_tstate;
}
