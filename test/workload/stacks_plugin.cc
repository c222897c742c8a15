// SPDX-License-Identifier: MIT
/*
 * stacks_plugin - a library that launches when it is loaded, used and unloaded
 *
 * It is built twice, with different FRAME_BYTES, so that the same code at the same address has
 * frames of another size.
 */
extern "C" void launch(void);
extern "C" __attribute__((weak)) void launch_in_constructor(void);

#define NOINLINE	__attribute__((noinline))

static NOINLINE void with_frame(void (*f)())
{
	char frame[FRAME_BYTES];

	frame[0] = 0;
	__asm__ volatile("" : : "r"(frame) : "memory");
	f();
	__asm__ volatile("" : : "r"(frame) : "memory");
}

static __attribute__((constructor)) void loaded()
{
	with_frame(launch_in_constructor ? launch_in_constructor : launch);
	__asm__ volatile("");
}

static __attribute__((destructor)) void unloaded()
{
	with_frame(launch);
	__asm__ volatile("");
}

extern "C" NOINLINE void plugin_work(void (*f)())
{
	with_frame(f);
	__asm__ volatile("");
}
