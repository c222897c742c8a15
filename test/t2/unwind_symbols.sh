#!/bin/sh
# SPDX-License-Identifier: MIT
# The unwinder contains no functions that allocate, lock or wait.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "sanitizers bring calls of their own"
need nm

nm -u "$XPU_BUILD/preload/launch/unwind.o" "$XPU_BUILD/preload/launch/cfi.o" >symbols
like "$(cat symbols)" 'objects__find' "the unwinder calls objects__find() to find code"
unlike "$(cat symbols)" ' (malloc|calloc|realloc|free|mmap|pthread_|sem_|mtx_|futex|unw_|_U)' \
	"the unwinder neither allocates nor locks, and does not use libunwind"
nm -u "$XPU_BUILD/preload/launch/cfi.o" >symbols
is "$(sed -n 's/^ *[Uvw] //p' symbols |
	grep -Evx 'objects__find|memcpy|memset|memmove|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail')" \
	"" "the reader of unwind tables calls only the search for code and memory functions"
nm -u "$XPU_BUILD/preload/launch/objects.o" >symbols
like "$(cat symbols)" ' dl_iterate_phdr$' \
	"the search for code can call dl_iterate_phdr()"
is "$(sed -n 's/^ *[Uvw] //p' symbols |
	grep -Evx 'dl_iterate_phdr|dlsym(@.*)?|dlerror(@.*)?|generation__nr_.*|'\
'memory__readable|sigfillset|pthread_sigmask(@.*)?|memcpy|memset|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail')" "" \
	"the search for code calls no other functions that could lock or allocate"

done_testing
