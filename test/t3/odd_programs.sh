#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that do unusual things: each behaves as it does without xpuload, in about the same time,
# and every launch is recorded under its call path.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
odd="$XPU_BUILD/workload/odd"

# as_ever NAME COMMAND...: compares status and output with a run without xpuload
as_ever() {
	name=$1
	shift
	timeout 300 "$@" >"$name.want" 2>"$name.werr"
	want=$?
	timeout 300 "$XPULOAD" -o "$name.data" "$@" >"$name.out" 2>"$name.log"
	is $? $want "$name: the exit status is the same as without xpuload" ||
		diag "$(cat "$name.log")"
	cmp "$name.want" "$name.out"
	ok $? "$name: stdout is the same as without xpuload"
	[ -n "${XPU_SAN:-}" ] && return		# the sanitizer's messages contain pids
	grep -v '^xpuload: ' "$name.log" | cmp - "$name.werr"
	ok $? "$name: stderr is the same as without xpuload"
}

all_there() {		# all_there NAME [MORE]: checks the recorded number of launches
	made=$(sed -n 's/^odd: launches //p' "$1.out" | awk '{ n += $1 } END { print n }')
	exact "$1" $((made + ${2:-0})) "$1: every launch is matched, under its own site"
}

for how in thread_local threads crowd switch signal jump modules throw refused sigwait closefrom \
	nofile setuid \
		mlockall vfork spawn exec_thread exit_thread tasks rawfork rawthread; do
	as_ever $how "$odd" $how
	all_there $how
done

# With shared memory, a child made by the bare system call shares its parent's log.
for how in rawfork rawthread; do
	"$XPULOAD" --transport shm -o shm.data "$odd" $how >"$how.out" 2>log
	is $? 0 "$how, shared memory: exit status 0" || diag "$(cat log)"
	mv shm.data "$how.data"
	all_there $how
done

like "$(cat refused.mlog)" \
	' 6050 launches that CUDA or OpenCL refused with an error: not among the launches' \
	"refused launches: a message counts them"

# Sanitizers need more stack, address space and system calls, and need the first thread.
if [ -z "${XPU_SAN:-}" ]; then
	for how in stack=16384 limit seccomp main_exits; do
		as_ever $how "$odd" $how
		all_there $how
	done
fi

# CUDA calls in constructors of the program and of a library. The library's constructor runs before
# the shim's constructor.
ODD_EARLY=1
export ODD_EARLY
as_ever early "$odd" early
all_there early
unset ODD_EARLY
if [ -z "${XPU_SAN:-}" ]; then			# xpuload is built with the sanitizer, too
	LD_PRELOAD="$XPU_BUILD/workload/odd_library.so" as_ever library "$odd" throw
	all_there library 10
	like "$(cat library.folded)" ';in_constructor;cudaMemset;\[GPU_Memset\] 10$' \
		"a library's constructor launches: the launches have their call path"
fi

# Programs into which the shim cannot be loaded, or in which it does nothing, run as usual.
said='^xpuload: warning: the target made no CUDA or OpenCL launch: .*the shim could not be loaded'
if [ -n "${XPU_SAN:-}" ]; then
	skip "a program of another C library" "the sanitizer's library is glibc's"
elif command -v musl-gcc >/dev/null; then
	musl-gcc -D_GNU_SOURCE -w -o bare_musl "$XPU_SRC/test/workload/bare.c"
	as_ever musl ./bare_musl out=100 threads=2 fork=1 exit=3
	like "$(cat musl.log)" "$said" \
		"a program with musl: a message says that nothing is recorded"
else
	skip "a program of another C library" "no musl-gcc"
fi
as_ever static "$XPU_BUILD/workload/cpu_static" -h
cp "$XPU_BUILD/workload/bare" setuid
if chown 65534 setuid && chmod 4755 setuid; then
	as_ever setuid ./setuid out=100 exit=3
	like "$(cat setuid.log)" "$said" \
		"a set-user-ID program: a message says that nothing is recorded"
fi
if [ -z "${XPU_SAN:-}" ]; then
	as_ever asan "$XPU_BUILD/workload/odd_asan" throw
	all_there asan
fi

# The limit on file sizes is only a few blocks: xpuload reports this, and the target ends normally.
(
	ulimit -f 8
	exec "$XPULOAD" -o small.data "$odd" threads >small.out 2>small.log
)
is $? 125 "a limit on file sizes: exit status 125, although the target ends normally"
like "$(cat small.log)" 'cannot write .*File too large' \
	"a limit on file sizes: a message says that the file is too large"
is "$(cat small.out)" "odd: launches 1001" "a limit on file sizes: the target ends normally"

done_testing
