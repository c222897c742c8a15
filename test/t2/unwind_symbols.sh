#!/bin/sh
# SPDX-License-Identifier: MIT
# The unwinder lacks the functions to allocate, lock or wait.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "sanitizers bring calls of their own"
need nm

nm -u "$XPU_BUILD/preload/launch/unwind.o" "$XPU_BUILD/preload/launch/cfi.o" >symbols
like "$(cat symbols)" 'objects__find' "finds code where objects.h says"
unlike "$(cat symbols)" ' (malloc|calloc|realloc|free|mmap|pthread_|sem_|mtx_|futex|unw_|_U)' \
	"neither allocates nor locks, and has nothing of libunwind"
nm -u "$XPU_BUILD/preload/launch/cfi.o" >symbols
is "$(sed -n 's/^ *[Uvw] //p' symbols |
	grep -Evx 'objects__find|memcpy|memset|memmove|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail')" "" \
	"reading a table calls nothing else"
nm -u "$XPU_BUILD/preload/launch/objects.o" >symbols
like "$(cat symbols)" ' dl_iterate_phdr$' "to find code, the C library's function or a table that this fills"
is "$(sed -n 's/^ *[Uvw] //p' symbols | grep -Evx 'dl_iterate_phdr|dlsym(@.*)?|dlerror(@.*)?|generation__nr_.*|'\
'memory__readable|sigfillset|pthread_sigmask(@.*)?|memcpy|memset|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail')" "" "and nothing else"

done_testing
