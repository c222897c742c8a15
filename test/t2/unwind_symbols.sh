#!/bin/sh
# SPDX-License-Identifier: MIT
# The unwinder lacks the functions to allocate, lock or wait.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "sanitizers bring calls of their own"
need nm

nm -u "$XPU_BUILD/preload/launch/unwind.o" "$XPU_BUILD/preload/launch/cfi.o" >symbols
like "$(cat symbols)" '_dl_find_object' "finds code through the C library"
unlike "$(cat symbols)" ' (malloc|calloc|realloc|free|mmap|pthread_|sem_|mtx_|futex|unw_|_U)' \
	"neither allocates nor locks, and has nothing of libunwind"
nm -u "$XPU_BUILD/preload/launch/cfi.o" >symbols
is "$(sed -n 's/^ *[Uvw] //p' symbols |
	grep -Evx '_dl_find_object|memcpy|memset|memmove|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail')" "" \
	"reading a table calls nothing else"

done_testing
