#!/bin/sh
# SPDX-License-Identifier: MIT
# Time off the CPU in native code, with and without frame pointers: blocked time is under the whole
# path of the blocking call, even if two paths differ only in a return address.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
quiet_sanitizers

for variant in cpu "cpu --call-graph fp" cpu_nofp; do
	# shellcheck disable=SC2086 # a name and an option
	set -- $variant
	program=$1
	shift
	xpuload --cpu-only --off-cpu "$@" -o naps.data "$XPU_BUILD/workload/$program" 1 \
		naps >out 2>load.log
	is $? 0 "$variant: exit status 0"
	like "$(cat load.log)" ' lost 0$' "$variant: nothing is lost"
	xpumerge -i naps.data --waits -f folded --unit ns -o naps.folded 2>merge.log
	# With frame pointers, the root is missing.
	for root in '(.*;)?__libc_start_call_main;main;naps' \
		'((__)?clone3?;)?start_thread;(asan_thread_start[^;]*;)?naps'; do
		case $root in
		*main*)	thread=main ;;
		*)	thread=other ;;
		esac
		for nap in one two; do
			nap_re="$root;nap_$nap;nap;.*nanosleep.*Off_CPU]sleep\$"
			ns=$(awk -v re="^.waits.;$program;$nap_re" '{
				n = $NF; sub(/ [0-9]+$/, ""); if ($0 ~ re) sum += n }
				END { print sum + 0 }' \
				naps.folded)
			# The recorded time equals the blocked time that the thread measured: 60 and
			# 120 ms, or more if timers are late. It is less if the thread waited for a
			# CPU after its timer expired. If a wakeup was missed, the nap and the wait
			# for a CPU count as one.
			sed -n "s/^napped $thread .*$nap \([0-9]*\) \([0-9]*\).*/\1 \2/p" out >want
			awk -v ns="$ns" '{ right = ns && ns >= $1 * 0.97 - 1e6 && ns <= $2 + 1e6 }
				END { exit !right }' want
			ok $? "$variant: nap_$nap of thread $thread has its blocked time: $ns ns" ||
				diag "$thread: $(cat want)" \
				"$(grep -m 1 "nap_$nap;.*Off_CPU]sleep" naps.folded)"
		done
	done
done

# In vfork() the return address is not on the stack.
if [ -n "${XPU_SAN:-}" ]; then
	skip "a wait in vfork() is measured" \
		"a sanitizer's own vfork() has no unwind tables for where its return address is"
	done_testing
fi
xpuload --cpu-only --off-cpu -o vfork.data "$XPU_BUILD/workload/cpu_nofp" 1 vfork >out 2>load.log
xpumerge -i vfork.data --waits -f folded --unit us -o vfork.folded 2>merge.log
us=$(awk '/^.waits.;cpu_nofp;(.*;)?main;wait_vfork;[^;]*vfork;.*Off_CPU/ { n += $NF } END { print n + 0 }' \
	vfork.folded)
[ "$us" -ge 60000 ]
ok $? "a wait in vfork() is measured: $us us" || diag "$(cat vfork.folded)"
done_testing
