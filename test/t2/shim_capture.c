// SPDX-License-Identifier: MIT
/*
 * Launches inside other launches, as signal handlers make them. The test checks which of the
 * launches belong to a capture window.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "gpu/cupti/callback.h"
#include "launch/capture_window.h"
#include "listener.h"
#include "nvtx/capture.h"
#include "tap.h"

static unsigned int nr_seen;

static void CUPTIAPI see(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			 const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
	nr_seen++;
}

/* Makes one callback of a launch. Return: whether the shim passed the launch on. */
static bool launch(CUpti_ApiCallbackSite site)
{
	unsigned int before = nr_seen;
	uint64_t correlation = 1;
	const CUpti_CallbackData data = { .callbackSite = site, .correlationData = &correlation };

	callback__count_windows(NULL, CUPTI_CB_DOMAIN_DRIVER_API,
				CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
	return nr_seen == before + 1 && correlation;
}

static int in_window(void)
{
	capture__lock();
	callback__watch_windows(see, 0, 0);
	capture__watch();
	capture__unlock();
	if (!launch(CUPTI_API_ENTER) || !launch(CUPTI_API_ENTER))
		return 2;
	if (!launch(CUPTI_API_EXIT) || !launch(CUPTI_API_EXIT))
		return 3;		/* both ends of the outer launch belong to the window */
	if (!launch(CUPTI_API_ENTER) || launch(CUPTI_API_ENTER))
		return 4;		/* the third launch is in the window; the fourth launch,
					 * inside the third, is not */
	if (launch(CUPTI_API_EXIT) || !launch(CUPTI_API_EXIT))
		return 5;
	return launch(CUPTI_API_ENTER) || launch(CUPTI_API_EXIT) ? 6 : 0;
}

/* Exits with 0 if the window expression is accepted. */
static int is_taken(void)
{
	return capture__init() ? 1 : !capture__watches_ranges();
}

/* ---- no memory for the marks ----------------------------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static bool no_memory;

__attribute__((visibility("default"))) void *mmap(void *at, size_t bytes, int protection,
						  int flags, int fd, off_t offset)
{
	if (__atomic_load_n(&no_memory, __ATOMIC_SEQ_CST) && bytes == CAPTURE_MARKS) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

static int without_memory(void)
{
	CUcontext context;
	CUfunction function;
	CUmodule module;

	__atomic_store_n(&no_memory, true, __ATOMIC_SEQ_CST);
	listener__attach();
	device__start(&context, &module, &function);
	if (!listener__wait(&listener.nr_messages, 1) || !strstr(listener.message, "no memory"))
		return 2;
	device__launch(function, NULL, 1);
	listener__settle();
	if (heard(nr_launches) || heard(nr_messages) != 1)
		return 3;
	__atomic_store_n(&no_memory, false, __ATOMIC_SEQ_CST);
	listener__settle();		/* the shim tries again */
	device__launch(function, NULL, 1);
	return listener__wait(&listener.nr_launches, 1) ? 0 : 4;
}
#else
static int without_memory(void)
{
	return 0;			/* the sanitizer has its own mmap() */
}
#endif

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "no memory"))
		return without_memory();
	if (argc > 1)
		return !strcmp(argv[1], "taken") ? is_taken() : in_window();
	is_int(listener__run(argv[0], "taken", "XPUSHIM_CAPTURE", "nvtx:^a\\\\1[(]$"), 0,
	       "an expression for names of ranges is accepted");
	is_int(listener__run(argv[0], "taken", "XPUSHIM_CAPTURE", "nvtx:^(a*)*\\1$"), 1,
	       "an expression that might take hours to compare is refused");
	is_int(listener__run(argv[0], "nested", "XPUSHIM_CAPTURE", "launch:1-3"), 0,
	       "launches inside launches, and launches after the window, are recorded right");
	is_int(listener__run(argv[0], "no memory", "XPUSHIM_CAPTURE", "launch:1-"), 0,
	       "no memory for the marks: one message says so, and the shim tries again");
	return done_testing();
}
