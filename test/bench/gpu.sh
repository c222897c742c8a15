#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# gpu.sh: what recording costs on this machine's GPU, beside CUPTI alone and beside other tools, in
# one table. `make bench-gpu`; TREE= for a portable tree, SIM=1 for the simulated device. Settings:
#
#	WORKLOADS	null1 null8	null kernels from 1 and 8 threads: ns per launch of a thread
#			step graph matmul	PyTorch, see step.py: us per step
#			cpu	xpuload's own CPU time while 100,000 launches a second are recorded
#	ROWS		bare	nothing on
#			dormant	the shim preloaded, nobody attached
#			floor	CUPTI's kernel activity alone, see floor.c: nobody gets kernel times for less
#			path launch fp dwarf	xpuload --gpu-only with --probe or --call-graph
#			merge all	xpuload with CPU samples; with all that it can record
#			torch torch-cpu torch-stack proton proton-python	see step.py
#			nsys	Nsight Systems, CUDA trace only
#	ROUNDS		of null1 and null8 (5); PyTorch takes more than half as many, each of 5 blocks
#
# The rows take turns, round by round, so that a slow moment hits them all; figures are medians. Only
# the program's own loop is timed, after its warm-up. The accounts are xpumerge's, of all rounds; a
# stack is not whole if it does not begin where threads begin. A row that cannot run says why.
set -u
: "${XPU_BUILD:?run it as: make bench-gpu}" "${XPU_SRC:?}"
workloads=${WORKLOADS:-null1 null8 cpu step graph matmul}
rows=${ROWS:-bare dormant floor path launch fp dwarf merge all torch torch-cpu torch-stack proton \
	proton-python nsys}
rounds=${ROUNDS:-5}
python=${PYTHON:-python3}
sim=${SIM:-}
cpu_rate=100000
dir=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
status=0

xpuload=$XPU_BUILD/xpuload xpumerge=$XPU_BUILD/xpumerge shim=$XPU_BUILD/libxpushim.so
if [ -x "$XPU_BUILD/bin/xpuload" ]; then
	xpuload=$XPU_BUILD/bin/xpuload xpumerge=$XPU_BUILD/bin/xpumerge
	shim=$XPU_BUILD/lib/xpuload/libxpushim.so
fi
"$xpuload" --help >help 2>&1 || { cat help >&2; exit 1; }

# ---- what there is -------------------------------------------------------------------------------

build() {		# ./launch and floor.so
	inc=$(sh "$XPU_SRC/scripts/find-cupti.sh") || exit 1
	if [ -n "$sim" ]; then
		lib=$XPU_BUILD/sim
		# shellcheck disable=SC2086
		${CXX:-c++} -std=gnu++17 -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
			$inc -I"$XPU_SRC/test/workload" -x c++ "$XPU_SRC/test/bench/launch.cu" -x none \
			-o launch -L"$lib" -lcudart -Wl,-rpath,"$lib" -lpthread -ldl || exit 1
	else
		nvcc=$(command -v "${NVCC:-nvcc}" || command -v /usr/local/cuda/bin/nvcc) ||
			{ echo "gpu.sh: no nvcc: set NVCC" >&2; exit 1; }
		"$nvcc" -std=c++17 -O2 -cudart shared -Wno-deprecated-gpu-targets \
			-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
			-I"$XPU_SRC/test/workload" -o launch "$XPU_SRC/test/bench/launch.cu" || exit 1
		cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
		for lib in "$cuda/extras/CUPTI/lib64" "$cuda/lib64" /usr/local/cuda/lib64; do
			[ -e "$lib/libcupti.so" ] && break
		done
	fi
	# shellcheck disable=SC2086
	${CC:-cc} -O2 -fPIC -shared $inc -o floor.so "$XPU_SRC/test/bench/floor.c" -L"$lib" -lcupti \
		-Wl,-rpath,"$lib" || exit 1
}

machine() {
	if [ -n "$sim" ]; then
		echo "the simulated device"
	else
		nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sed 's/, /, driver /'
		"$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/CUDA \1/p'
	fi
	sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1
	echo "$(nproc) CPUs, Linux $(uname -r)"
	"$xpuload" --version
	[ -z "$torch_why" ] && "$python" -c 'import torch; print("PyTorch", torch.__version__)'
	[ -z "$proton_why" ] && "$python" -c 'import triton; print("Triton", triton.__version__)'
	[ -n "$nsys" ] && "$nsys" --version 2>/dev/null | head -n 1
}

import_why() {		# import_why STATEMENT: nothing, or why it cannot be done
	"$python" -c "$1" >import.log 2>&1 || tail -n 1 import.log
}

find_nsys() {
	for nsys in "$(command -v nsys)" /usr/local/cuda*/bin/nsys /opt/nvidia/*/bin/nsys \
			/opt/nvidia/*/*/bin/nsys /opt/nvidia/*/*/host/target-linux-x64/nsys \
			/opt/nvidia/*/*/target-linux-x64/nsys; do
		[ -x "$nsys" ] && return
	done
	nsys=
}

has() {			# has OPTION: xpuload knows it
	grep -q -- "$1[ ,=]" help
}

# Sets $options for the rows that are xpuload's, $why for one that cannot be, and returns 1.
prepare() {		# prepare WORKLOAD ROW
	gpu_only='' why='' options=''
	has --gpu-only && gpu_only=--gpu-only
	case $1:$2 in
	null?:torch*|null?:proton*)
		return 1 ;;
	cpu:path|cpu:launch|cpu:fp|cpu:dwarf|cpu:merge|cpu:all)
		;;
	cpu:*)	return 1 ;;
	esac
	case $2 in
	path|launch)
		has --probe || why="xpuload has no --probe"
		options="$gpu_only --probe $2" ;;
	fp|dwarf)
		options="$gpu_only --call-graph $2" ;;
	merge)	has --freq || why="xpuload has no --freq"
		options="-F 99" ;;
	all)	has --off-cpu || why="xpuload has no --off-cpu"
		options="-F 99 --off-cpu" ;;
	proton*)
		why=$proton_why ;;
	nsys)	[ -n "$nsys" ] || why="nsys is not found" ;;
	bare|dormant|floor|torch*)
		;;
	*)	why="there is no such row" ;;
	esac
	[ -z "$why" ]
}

# ---- runs ----------------------------------------------------------------------------------------

under() {		# under ROW DATA COMMAND...: runs the command in the way of that row
	row=$1 data=$2
	shift 2
	case $row in
	dormant)
		set -- env LD_PRELOAD="$shim" "$@" ;;
	floor)	set -- env CUDA_INJECTION64_PATH="$dir/floor.so" "$@" ;;
	nsys)	set -- "$nsys" profile -t cuda -s none --cpuctxsw none -f true -o nsys "$@" ;;
	path|launch|fp|dwarf|merge|all)
		# shellcheck disable=SC2086
		set -- "$xpuload" $options -o "$data" "$@" ;;
	esac
	timeout -k 5 100 "$@"
}

# One run: its figures go to WORKLOAD.ROW.ns, those of each workload of PyTorch to its own.
run() {			# run WORKLOAD ROW ROUND
	set -- "$1" "$2" "$1.$2.$3.data"
	case $1 in
	null1)	under "$2" "$3" ./launch -t 1 -n 100000 >out 2>"$2.log" </dev/null ;;
	null8)	under "$2" "$3" ./launch -t 8 -n 25000 >out 2>"$2.log" </dev/null ;;
	*)	case $2 in
		torch*|proton*)	tool=$2 ;;
		*)		tool=none ;;
		esac
		# shellcheck disable=SC2086
		under "$2" "$3" "$python" "$XPU_SRC/test/bench/step.py" --tool "$tool" \
			$torch_workloads >out 2>"$2.log" </dev/null ;;
	esac
	failed=$?
	case $1 in
	null?)	grep -Ex '[0-9.]+' out >>"$1.$2.ns" ;;
	*)	for w in $torch_workloads; do
			sed -n "s/^$w \([0-9.]*\)\$/\1/p" out >>"$w.$2.ns"
		done ;;
	esac
	# A tool that fails after the program has ended did its part.
	[ $failed = 0 ] && return
	[ "$2" = nsys ] && grep -q '[0-9]' out && return
	printf '%s: status %d: %s\n' "$1" $failed "$(grep -v '^ *$' "$2.log" | tail -n 1)" >"$2.failed"
	case $2 in
	torch*|proton*|nsys) ;;
	*)	status=1 ;;
	esac
}

# xpuload's CPU time in percent of the time that passed, in the middle of a run at a steady rate.
run_cpu() {		# run_cpu ROW ROUND
	# shellcheck disable=SC2086
	"$xpuload" $options -o "cpu.$1.$2.data" ./launch -t 4 -r $cpu_rate -s 4 >out 2>"$1.log" &
	pid=$!
	while kill -0 $pid 2>/dev/null && ! grep -q running out; do
		sleep 0.05
	done
	sleep 0.3
	from=$(cpu_times $pid)
	sleep 3
	to=$(cpu_times $pid)
	wait $pid || { tail -n 1 "$1.log" >"$1.failed"; status=1; return; }
	echo "$from $to $(getconf CLK_TCK)" |
		awk 'NF == 5 { print ($3 - $1) / $5 / ($4 - $2) * 100 }' >>"cpu.$1.ns"
	tail -n 1 out >>"cpu.$1.rates"
}

cpu_times() {		# cpu_times PID: ticks of it and all its threads; seconds since the boot
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ printf "%d ", $12 + $13 }'
	cut -d' ' -f1 /proc/uptime
}

# ---- accounts and the table ----------------------------------------------------------------------

account_one() {		# account_one DATA: "launches matched wrong unmatched lost not_whole"
	"$xpumerge" -i "$1" -f folded --unit count -o "$1.folded" 2>"$1.log" ||
		{ tail -n 1 "$1.log" >&2; return 1; }
	sh "$XPU_SRC/test/lib/verdict.sh" "$1.folded" "$1.log" | tr -c '0-9\n' ' ' | tr '\n' ' '
	awk -F';' '/;\[GPU[0-9]*_[KM]/ {
		root = "^(_start|_?_?libc_start.*|_*clone3?|start_thread|libc[.]so[.]6.*)$"
		if ($2 !~ root || /;\[truncated\];|;\[no stack\];/)
			n += $NF ~ / [0-9]+$/ ? substr($NF, match($NF, / [0-9]+$/)) : 0
	} END { print n + 0 }' "$1.folded"
}

accounts() {		# accounts WORKLOAD: merges what was recorded, all rounds of a row at a time
	for row in $rows; do
		for data in "$1.$row".*.data; do
			[ -e "$data" ] && account_one "$data" >"$data.account" &
		done
		wait
		cat "$1.$row".*.account 2>/dev/null | awk 'NF == 6 {
			for (i = 1; i <= 6; i++) sum[i] += $i
			nr++
		} END {
			if (nr)
				printf "%9d %9d %5d %9d %4d %9d\n", sum[1], sum[2], sum[3], sum[4],
					sum[5], sum[6]
		}' >"$1.$row.account"
		rm -f "$1.$row".*.data*
	done
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END {
		if (NR)
			print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
	}'
}

figure() {		# figure WORKLOAD ROW: its median, or nothing
	[ -s "$1.$2.ns" ] && median "$1.$2.ns"
}

header() {
	echo "workload row           median unit       x bare x floor  launches   matched wrong" \
		"unmatched lost not whole"
}

table() {		# table WORKLOAD ACCOUNTS_OF: the rows of a workload
	case $1 in
	null?)	unit="ns/launch" ;;
	cpu)	unit="% CPU" ;;
	*)	unit="us/step" ;;
	esac
	bare=$(figure "$1" bare)
	floor=$(figure "$1" floor)
	for row in $rows; do
		if ! prepare "$1" "$row"; then
			[ -n "$why" ] && printf '%-8s %-13s left out: %s\n' "$1" "$row" "$why"
			continue
		fi
		value=$(figure "$1" "$row")
		if [ -n "$value" ]; then
			echo "$value ${bare:-0} ${floor:-0}" | awk -v workload="$1" -v row="$row" \
				-v unit="$unit" -v account="$(cat "$2.$row.account" 2>/dev/null)" '
				function ratio(of) {
					return of && unit != "% CPU" ? sprintf("%7.3f", $1 / of) : "       "
				} {
					line = sprintf("%-8s %-13s %7.1f %-9s %s %s %s", workload, row, $1,
						unit, ratio($2), ratio($3), account)
					sub(/ +$/, "", line)
					print line
				}'
		fi
		[ -s "$row.failed" ] && printf '%-8s %-13s failed: %s\n' "$1" "$row" "$(cat "$row.failed")"
	done
	if [ "$1" = cpu ]; then
		cat cpu.*.rates 2>/dev/null | sort -n |
			awk 'NR == 1 { printf "         at %d launches a second or more\n", $1 }'
	fi
}

# What is aimed at: a row, and how much more than another it may cost.
aim() {			# aim WORKLOAD ROW OTHER LIMIT
	figures="$(figure "$1" "$2") $(figure "$1" "$3")"
	echo "$figures" | awk -v what="$1: $2 / $3" -v limit="$4" 'NF == 2 {
		printf "%-38s %6.3f   aim %.3f\n", what, $1 / $2, limit }'
}

aim_added() {		# aim_added WORKLOAD ROW OTHER LIMIT: the same of what they add to bare
	figures="$(figure "$1" "$2") $(figure "$1" "$3") $(figure "$1" bare)"
	echo "$figures" | awk -v what="$1: added by $2 / by $3" -v limit="$4" 'NF == 3 && $2 > $3 {
		printf "%-38s %6.3f   aim %.3f\n", what, ($1 - $3) / ($2 - $3), limit }'
}

# ---- the run -------------------------------------------------------------------------------------

torch_workloads='' own_workloads=''
for w in $workloads; do
	case $w in
	null1|null8|cpu)	own_workloads="$own_workloads $w" ;;
	step|graph|matmul)	torch_workloads="$torch_workloads $w" ;;
	*)	echo "gpu.sh: WORKLOADS: there is no $w" >&2
		exit 2 ;;
	esac
done
torch_why="it is for a real GPU"
[ -n "$sim" ] || torch_why=$(import_why 'import torch; assert torch.cuda.is_available(), "no CUDA"')
proton_why=${torch_why:-$(import_why 'import triton.profiler')}
find_nsys
[ -n "$sim" ] && nsys=
build
machine | awk '{ printf "%s%s", (NR > 1 ? "; " : ""), $0 } END { print "" }'
echo "medians of $rounds interleaved rounds; of PyTorch of $((rounds / 2 + 1)), 5 blocks of steps each"
echo
header
for w in $own_workloads; do
	round=1
	while [ $round -le "$rounds" ]; do
		[ "$w" = cpu ] && [ $round -gt 3 ] && break
		for row in $rows; do
			prepare "$w" "$row" || continue
			if [ "$w" = cpu ]; then
				run_cpu "$row" $round
			else
				run "$w" "$row" $round
			fi
		done
		round=$((round + 1))
	done
	accounts "$w"
	table "$w" "$w"
	rm -f ./*.failed
done
if [ -n "$torch_workloads" ] && [ -n "$torch_why" ]; then
	echo "$torch_workloads: left out: PyTorch: $torch_why"
elif [ -n "$torch_workloads" ]; then
	round=1
	while [ $round -le $((rounds / 2 + 1)) ]; do
		for row in $rows; do
			prepare pytorch "$row" && run pytorch "$row" $round
		done
		round=$((round + 1))
	done
	accounts pytorch
	for w in $torch_workloads; do
		table "$w" pytorch
	done
fi

[ -n "$sim" ] && exit $status
echo
best=path
has --probe || best=dwarf
for w in null1 null8; do
	aim $w $best floor 1.1
done
aim step $best floor 1.05
aim_added step $best torch-stack 0.167
aim_added step $best nsys 0.333
aim matmul $best bare 1.005
for w in null1 null8 step graph matmul; do
	aim $w dormant bare 1.0
done
exit $status
