#!/bin/sh
# SPDX-License-Identifier: MIT
# Launches from generated code, whose names are in /tmp/perf-PID.map: with both ways to unwind and
# both transports, each launch is under its function, or the name is marked as uncertain.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
maps=$PWD/pids
trap 'while read -r pid; do rm -f "/tmp/perf-$pid.map"; done <"$maps"' EXIT
: >"$maps"

# calls: prints how often each generated function called each site, whether or not the device work
# was recorded
calls() {
	sed -n 's/.*;main;\(.*\);site_\([a-z]*\);.* \([0-9]*\)$/\3 \1>\2/p' jit.folded |
		awk '{ n = $1; sub(/^[0-9]* /, ""); sum[$0] += n }
			END { for (call in sum) print call, sum[call] }' | sort | tr '\n' ' '
}

for transport in bpf shm; do
	for chains in fp dwarf; do
		while read -r how want; do
			what="$how, $chains, $transport"
			"$XPULOAD" --gpu-only --transport $transport --call-graph $chains \
				-o jit.data "$XPU_BUILD/workload/jit" "$how" >out 2>log
			xpumerge jit.data --unit count -o jit.folded 2>merge.log
			xpumerge dump jit.data |
				sed -n 's/.* COMM .* pid=\([0-9]*\) .*/\1/p' >>"$maps"
			is "$(calls)" "$want " \
				"$what: each call is under its function, or marked as uncertain" ||
				diag "$(cat log merge.log jit.folded)"
			like "$(cat log)" '; lost 0$' "$what: nothing is lost"
			uncertain=$(sed -n 's/^ *\([0-9]*\) frames* of generated code .*/\1/p' \
				merge.log)
			case $how in replaced | remapped) want=2 ;; *) want= ;; esac
			is "$uncertain" "$want" "$what: uncertain frames are counted"
		done <<-'END'
		plain first>first 100
		moved first>first 100 second>second 100
		replaced second (?)>first 100 second (?)>second 100
		remapped second (?)>first 100 second (?)>second 100
		killed first>first 100 second>second 100
		exec first>first 200 second>second 100
		END
	done
done
done_testing
