#!/bin/sh
# SPDX-License-Identifier: MIT
# Every example command in README.md and in the pages of doc/ runs as it is written there. Only
# sudo, launcher prefixes, the pid of a server and long durations are replaced; commands that need a
# container are left out.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf python3
use_sim
[ -e "$XPU_BUILD/workload/py_launch.so" ] || skip_all "no py_launch.so"

# Prints the commands of PAGE's examples, without the explanations on their lines.
commands() {		# commands PAGE
	sed -n '/^```/,/^```/p' "$XPU_SRC/$1" | sed 's/[[:space:]]\{1,\}#.*//; s/   .*//' |
		sed 's/^sudo //; s/^srun \(xpu\)/\1/; s/^torchrun .*--no-python //' |
		grep -E '^(xpuload|xpumerge)( |$)' |
		grep -v -e --container |
		sed -e "s/-p PID/-p $a_pid/; s/--duration 10/--duration 0.5/" \
			-e "s/ top / top -n 1 /; s#/tmp/##"
}

cat >train.py <<END
import ctypes
gpu = ctypes.CDLL("$XPU_BUILD/workload/py_launch.so")
gpu.py_launch_init()
for i in range(2000):
    gpu.py_launch(1)
gpu.py_launch_done()
END
cp "$XPU_BUILD/workload/exact" app
export SLURM_PROCID=0 SLURM_JOB_ID=7 SLURM_SUBMIT_DIR="$PWD" RANK=0 PYTHONDONTWRITEBYTECODE=1
start_dormant a -t 2
for name in main branch main1 main2 branch1 branch2; do
	xpuload -q -o $name.data ./app -t 2 -n 500 >/dev/null 2>&1
done
for rank in 0 1; do
	RANK=$rank SLURM_PROCID=$rank xpuload -q -o rank$rank.data \
		"$XPU_BUILD/workload/nccl" 2 20 0 >/dev/null 2>&1
done

# Files that tools of AMD, Intel and PyTorch write, for the commands that read them.
gen() {		# gen TOOL FILE ARG...
	tool=$1
	shift
	python3 "$XPU_SRC/test/lib/gen_$tool.py" "$@"
}
gen rocprof 1234_results.db format=db
gen rocprof 1234_results.json
gen pti app.1234.json
gen kineto trace.json xpu=1

nr=0
for page in README.md $(cd "$XPU_SRC" && echo doc/*.md); do
	commands "$page" >commands
	while read -r command; do
		nr=$((nr + 1))
		eval "$command" >out 2>log </dev/null
		status=$?
		# Recordings of the same program may differ by chance.
		[ $status = 0 ] || { [ $status = 1 ] &&
			[ "${command#*--fail-over}" != "$command" ]; }
		ok $? "$page: this command runs: $command" || diag "$status: $(cat log)"
	done <commands
done
[ $nr -ge 25 ]
ok $? "$nr commands of the documents were found and run"
finish a
done_testing
