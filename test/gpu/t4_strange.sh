#!/bin/sh
# SPDX-License-Identifier: MIT
# CUDA programs of all kinds on a real GPU: each behaves as it does without xpuload, and every
# launch is recorded under its call path.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf
here="$XPU_SRC/test/gpu"
work="$XPU_SRC/test/workload"
fp=-fno-omit-frame-pointer,-fno-optimize-sibling-calls

# ---- builds, all at once -------------------------------------------------------------------------

build() {		# build NAME SOURCE FLAGS...
	name=$1 source=$2
	shift 2
	{
		"$NVCC" -std=c++17 -O2 -g -arch=native -I"$work" "$@" -o "$name" "$source" -lcuda \
			>"$name.nvcc" 2>&1
		echo $? >"$name.built"
	} &
}

build_c() {		# build_c NAME SOURCE FLAGS...
	name=$1 source=$2
	shift 2
	cc -std=gnu11 -O2 -g -fno-omit-frame-pointer -I"$toolkit/include" \
		-I"$toolkit/extras/CUPTI/include" -x c "$source" -x none -o "$name" "$@" \
		-L"$toolkit/lib64" -L"$toolkit/extras/CUPTI/lib64" >"$name.nvcc" 2>&1
	echo $? >"$name.built"
}

: "${NVCC:=nvcc}"
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v "$NVCC")")")")
build strange "$here/strange.cu" -cudart shared -Xcompiler $fp
build strange_static "$here/strange.cu" -cudart static -Xcompiler -fomit-frame-pointer
build strange_ptds "$here/strange.cu" --default-stream per-thread -Xcompiler $fp
build strange_noeh "$here/strange.cu" -cudart shared \
	-Xcompiler $fp,-fno-asynchronous-unwind-tables,-fno-unwind-tables,-fno-exceptions
build strange_rdc "$here/strange.cu" -rdc=true -DSTRANGE_RDC -Xcompiler $fp
build strange_asan "$here/strange.cu" -cudart shared -Xcompiler $fp,-fsanitize=address
build plugin.so "$here/strange_plugin.cu" -shared -Xcompiler $fp,-fPIC
build odd "$work/odd.cu" -cudart shared -Xcompiler $fp
build odd_static "$work/odd.cu" -cudart static -Xcompiler -fomit-frame-pointer
build_c odd_library.so "$work/odd_library.cc" -fPIC -shared -lcudart
build_c own_cupti "$work/own_cupti.cc" -lcudart -lcupti
build_c own_profiles "$work/own_profiles.cc" -lcudart -lcupti -lpthread -ldl
wait
for name in strange strange_static strange_ptds strange_noeh strange_rdc strange_asan plugin.so \
		odd odd_static odd_library.so own_cupti own_profiles; do
	is "$(cat $name.built)" 0 "nvcc builds $name" || diag "$(head -n 5 $name.nvcc)"
done
LD_LIBRARY_PATH=$toolkit/lib64:$toolkit/extras/CUPTI/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# ---- runs, eight at a time -----------------------------------------------------------------------

all=
nr=0
try() {			# try NAME COMMAND...: runs COMMAND with and without xpuload
	name=$1
	shift
	all="$all $name"
	{
		timeout 60 "$@" >"$name.want" 2>"$name.werr"
		echo $? >"$name.wanted"
		timeout 90 "$XPULOAD" -o "$name.data" timeout 60 "$@" >"$name.out" 2>"$name.log"
		echo $? >"$name.got"
		timeout 60 "$XPUMERGE" -i "$name.data" -f folded --unit count -o "$name.folded" \
			2>"$name.mlog"
	} </dev/null &
	nr=$((nr + 1))
	[ $((nr % 8)) = 0 ] && wait
}

for how in $(./strange -l); do
	try "$how" ./strange "$how"
done
for how in cdp device_graph graph; do
	try "rdc.$how" ./strange_rdc $how
done
for how in runtime driver graph copies plugin; do
	try "static.$how" ./strange_static $how
done
for how in runtime copies graph defaults; do
	try "ptds.$how" ./strange_ptds $how
done
for how in runtime graph; do
	try "noeh.$how" ./strange_noeh $how
done
for how in atexit destructor refused thread_local threads crowd stack=16384 stack=32768 \
	stack=65536 \
		switch signal jump modules throw sigwait closefrom nofile seccomp rawfork vfork \
		spawn exec_thread exit_thread main_exits tasks; do
	try "$how" ./odd $how
done
ODD_EARLY=1
export ODD_EARLY
try early ./odd early
unset ODD_EARLY
try library env LD_PRELOAD="$PWD/odd_library.so" ./odd throw
for how in refused throw switch threads; do
	try "static.$how" ./odd_static $how
done
try own_cupti ./own_cupti
try own_activity ./own_cupti activity
try own_first ./own_cupti both first
try own_late ./own_profiles late
try own_kineto ./own_profiles kineto
ASAN_OPTIONS=protect_shadow_gap=0:detect_leaks=0
export ASAN_OPTIONS
try asan ./strange_asan runtime
unset ASAN_OPTIONS
try no_device env CUDA_VISIBLE_DEVICES= ./strange runtime
try uuid env CUDA_VISIBLE_DEVICES="$(nvidia-smi -L | sed -n 's/.*UUID: \([^)]*\)).*/\1/p' |
	head -n 1)" ./strange runtime
try blocking env CUDA_LAUNCH_BLOCKING=1 ./strange runtime
try eager env CUDA_MODULE_LOADING=EAGER ./strange runtime
try injected env CUDA_INJECTION64_PATH=/no/such/library.so ./strange runtime
try nested "$XPULOAD" -q -o inner.data ./strange runtime
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	try own_profiler python3 "$here/own_profiler.py"
	try torch python3 "$here/more.py" loader
fi
wait

# ---- results -------------------------------------------------------------------------------------

for name in $all; do
	more=0
	[ "$name" = library ] && more=10	# launches of the library's constructor
	made=$(sed -n 's/^\(strange\|odd\): launches //p' "$name.out" |
		awk -v more=$more '{ n += $1 } END { print n ? n + more : 0 }')
	line=$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" "$name.mlog")
	diag "$name: status $(cat "$name.wanted") $(cat "$name.got"), made $made; $line"
	is "$(cat "$name.got")" "$(cat "$name.wanted")" "$name: its exit status is unchanged" ||
		diag "$(head -n 5 "$name.werr" "$name.log")"
	cmp -s "$name.want" "$name.out"
	ok $? "$name: its output is unchanged" ||
		diag "$(diff "$name.want" "$name.out" | head -n 10)"
	case $name in
	child | children | deep)	# CUPTI gives new numbers to the nodes of child graphs
		like "$line" "^launches $made matched $made wrong [0-9]+ unmatched 0 lost 0" \
			"$name: every launch is matched, under its own site"
		like "$(cat "$name.mlog")" \
			'graph nodes whose making was not recorded: under their launch' \
			"$name: a message says that work of unknown nodes is under the launch" ;;
	empty_graph | conditional)	# CUPTI gives no work for a launch, or no launch for work
		like "$line" "^launches $made matched 2 .* lost 0" \
			"$name: all launches are recorded"
		like "$(cat "$name.mlog")" \
			'launches without device work in the recording \(pending\)' \
			"$name: a message counts launches without device work" ;;
	own_*)
		like "$(cat "$name.log")" 'the program (uses CUPTI )?itself' \
			"$name: a message says that the program uses CUPTI itself"
		like "$line" "^launches ([0-9]+) matched \\1 wrong 0 unmatched 0 lost 0" \
			"$name: every recorded launch is matched" ;;
	*)	[ "$made" = 0 ] || is "$line" \
			"launches $made matched $made wrong 0 unmatched 0 lost 0" \
				"$name: every launch is matched, under its own site" ||
			diag "$(cat "$name.log" "$name.mlog")" ;;
	esac
done
done_testing
