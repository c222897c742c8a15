# SPDX-License-Identifier: GPL-3.0-or-later
# pairs.sh - launches with known truth, imported from two files: right, wrong, uncertain
#
# pairs NAMED "KEY=VALUE ...": makes and imports such files, and calls row NAMED KEYS RIGHT WRONG
# UNCERTAIN NONE. NAMED is 1 if the stacks name their kernels, and these names identify the call
# paths. A launch that has a stack and is reported to have lost it is also wrong.
# shellcheck shell=sh

pairs() {
	# shellcheck disable=SC2086 # words are arguments
	"$XPU_BUILD/gen_pairs" cpu.txt gpu.json truth $2 || exit 1
	"${XPU_PAIRS_MERGE:-$XPU_BUILD/xpumerge}" --cpu cpu.txt --gpu gpu.json -f perf >pairs.out 2>pairs.log
	# shellcheck disable=SC2046 # words are arguments
	row "$1" "$2" $("$XPU_BUILD/gen_pairs" verdict truth <pairs.out)
}

# pairs_truth SEED NR: makes and imports NR recordings, in which losses, steps, drift, missing ends,
# ids, threads, APIs and gaps vary at random. Prints right, wrong and uncertain for each. A
# recording is right if at most one in 1000 of the certain launches is wrong, no launch is said to
# have lost a stack that it has, and there are not more launches than were made.
pairs_truth() {
	pairs_seed=$1 pairs_left=$2
	while [ "$pairs_left" -gt 0 ]; do
		pairs_keys=$(awk -v seed="$pairs_seed$pairs_left" 'function c(s, v, n) { n = split(s, v, "|"); return v[1 + int(rand() * n)] }
			BEGIN { srand(seed); tids = c("same|other|pid|pid")
			print "seed=" seed, "nr=" c("1000|4000"), "tids=" tids, "threads=" c("1|2|4|8|16"),
			c("gap=0.3 work=0.2|gap=0.3 work=0.2 burst=200 pause=1000|gap=1 work=10 shape=exp|gap=10 work=100 shape=exp|" \
			  "gap=2000 work=0.5|gap=100 work=2|gap=50 work=500 shape=exp|gap=0.3 work=20|gap=100 work=5 burst=50 pause=2000"),
			c("|delay=0.2 jitter=0.5|jitter=10|jitter=50 shape=exp"),
			c("|lost=0.01|lost=0.05|lost=0.1|lost=0.2|lost=0.3|lost=0.05 run=20|lost=0.1 run=50|lost=0.2 run=100"),
			c("|||lost_calls=0.01|lost_calls=0.05|lost_calls=0.2|head=0.1|head=0.1 tail=0.1|tail=0.2|late=0.1"),
			c("|||drift=40|drift=-40|step=0.05|step=2|step=20"), c("|apis=1|apis=1"),
			c("kernels=30|kernels=3|kernels=1000|kernels=8000"), c("|||names=nvcc"), c("||loop=10|loop=200|noise=0.1") }')
		pairs_one "$pairs_keys"
		pairs_left=$((pairs_left - 1))
	done
}

# pairs_waits SEED NR: does so for NR recordings whose threads wait for each other in their calls.
# Each stack comes soon after the previous call, and long before its own call.
pairs_waits() {
	for pairs_seed in $(seq "$1" $(($1 + $2 - 1))); do
		pairs_one "nr=1000 threads=2 tids=pid gap=0.3 work=0.2 burst=200 pause=1000 jitter=50 shape=exp lost=0.05 kernels=3 seed=$pairs_seed"
		pairs_one "nr=1000 threads=$((pairs_seed % 8 + 1)) tids=same gap=10 work=2 jitter=100 shape=exp apart=0 late=0.02 seed=$pairs_seed"
	done
}

pairs_one() {		# pairs_one KEYS
	# shellcheck disable=SC2086 # words are arguments
	"$XPU_BUILD/gen_pairs" cpu.txt gpu.json truth $1 || exit 1
	"${XPU_PAIRS_MERGE:-$XPU_BUILD/xpumerge}" --cpu cpu.txt --gpu gpu.json -f perf >pairs.out 2>pairs.log
	# shellcheck disable=SC2046 # words are arguments
	truth_row "$1" $("$XPU_BUILD/gen_pairs" verdict truth <pairs.out) \
		"$(sed -n 's/^launches \([0-9]*\) .*/\1/p' pairs.log)"
}

truth_row() {		# truth_row KEYS RIGHT WRONG UNCERTAIN NONE SEEN LAUNCHES
	[ $(($3 * 1000)) -le $(($2 + $3)) ] && [ $(($2 + $3 + $4 + $5)) -gt 0 ] && [ "$7" -le "$6" ]
	ok $? "right $2 wrong $3 uncertain $4 none $5 launches $7 of $6: $1"
}

# The small table, which belongs to the test suite.
pairs_table() {
	burst="gap=0.3 work=0.2 burst=200 pause=1000"
	tight="gap=0.3 work=0.2"
	named="names=nvcc"
	for seed in 1 2 3; do
		pairs 0 "$burst seed=$seed nr=4000"
	done
	pairs 0 "$burst lost=0.01 lost_calls=0.01"
	pairs 0 "$burst kernels=1"
	pairs 1 "$burst $named lost=0.01 lost_calls=0.01"
	pairs 1 "$burst names=hip kernel=demangled lost=0.01"
	pairs 1 "$burst names=plain"
	pairs 1 "$burst names=caller kernel=demangled"
	pairs 0 "$tight"
	pairs 0 "$tight lost=0.01"
	pairs 0 "$tight lost=0.01 shape=exp"
	pairs 0 "$tight shape=exp jitter=10"
	# The time from a stack to its call varies as work does; the time back hardly varies.
	pairs 0 "shape=exp jitter=50 gap=10 work=0.2 lost=0.01"
	pairs 0 "shape=exp jitter=200 work=0.2 dur_jitter=0.3 threads=8 cut=1"
	pairs 0 "shape=exp jitter=100 gap=10 work=0.2 lost=0.02 lost_calls=0.02 seed=2"
	pairs 0 "shape=exp jitter=100 gap=10 work=0.2 lost=0.02 lost_calls=0.02 seed=26"
	pairs 1 "$tight $named lost=0.01 shape=exp"
	pairs 1 "$tight $named lost=0.02 lost_calls=0.02 kernels=3"
	pairs 1 "$tight $named cut=37 kernels=6"
	pairs 0 "$tight cut=1"
	pairs 0 "$tight cut=37"
	pairs 0 "gap=0.1 work=0.1 jitter=0.2 delay=0.2 dur=0.5 lost=0.01"
	pairs 1 "gap=0.1 work=0.1 jitter=0.2 delay=0.2 dur=0.5 lost=0.01 $named"
	pairs 0 "work=30 shape=exp"
	pairs 0 "work=30 shape=exp lost=0.01 lost_calls=0.01 nr=8000"
	pairs 0 "work=30 shape=exp drift=40 lost=0.01"
	pairs 0 "work=1000 shape=exp jitter=10 lost=0.01 drift=-40"
	pairs 0 "work=1000 shape=exp jitter=10 loop=50 lost=0.01"
	pairs 1 "work=1000 $named jitter=500 lost=0.01 drift=40"
	pairs 0 "loop=50 $burst lost=0.01"
	pairs 1 "loop=50 $burst $named lost=0.01"
	pairs 0 "gap=100 work=0.001 lost=0.01"
	pairs 1 "gap=100 work=0.001 lost=0.01 $named"
	pairs 1 "gap=100 work=0.001 lost=0.01 $named kernels=2"
	for tids in same other pid; do
		pairs 0 "threads=8 work=60 shape=exp lost=0.01 tids=$tids"
		pairs 0 "threads=8 $burst tids=$tids"
		pairs 0 "threads=8 $tight lost=0.01 tids=$tids"
		pairs 1 "threads=8 work=60 shape=exp lost=0.01 $named tids=$tids"
		pairs 1 "threads=8 $burst $named lost=0.01 tids=$tids"
		pairs 1 "threads=8 $tight $named lost=0.01 own=1 kernels=4 tids=$tids"
		pairs 0 "threads=64 work=200 shape=exp nr=6400 tids=$tids"
		pairs 1 "threads=64 work=200 shape=exp nr=6400 lost=0.01 $named tids=$tids"
		pairs 1 "threads=64 $burst nr=6400 kernels=200 $named names=template tids=$tids"
	done
	pairs 0 "threads=8 procs=2 devices=2 work=60 shape=exp lost=0.01"
	pairs 1 "threads=8 procs=4 devices=4 $burst $named lost=0.01 tids=pid"
	pairs 1 "threads=4 $burst $named lost_works=0.1 lost=0.01"
	pairs 1 "threads=4 $tight $named paths=5 kernels=3 lost=0.01"
	pairs 0 "threads=8 $tight $named paths=5 kernels=3 lost=0.01 tids=pid"
	pairs 0 "paths=5 kernels=3 $burst noise=0.1"
	pairs 0 "threads=8 work=500 shape=exp jitter=1 cut=1 seed=12"
	pairs 0 "nr=20 work=1000"
	pairs 0 "nr=20 lost=0.1 lost_calls=0.1"
	pairs 1 "nr=100 $tight $named"
}

# A large table, in which each pair of parameters varies together, in turns.
pairs_grid() {
	seed=100
	for threads in 1 2 8 64; do
	for tids in same other pid; do
	for gap in "gap=0.1 work=0.2" "gap=0.3 work=0.2 burst=200 pause=1000" "gap=1 work=10 shape=exp" \
		"gap=10 work=100 shape=exp" "gap=100 work=900"; do
	for jitter in "delay=0.2 jitter=0.5" "delay=1 jitter=10"; do
	for lost in "" "lost=0.01" "lost=0.02 lost_calls=0.02"; do
	for names in none nvcc; do
		seed=$((seed + 1))
		# Each time another one of these parameters varies.
		set -- kernels=1 kernels=3 kernels=30 kernels=200 loop=10 own=1 drift=40 drift=-40 noise=0.1 \
			"procs=2 devices=2" cut=1 lost_works=0.05 dur_jitter=0.1 paths=3
		shift $((seed % $#))
		case $1 in procs*) [ $threads -gt 1 ] || continue ;; esac
		named=1
		[ $names = none ] || [ "$1" = paths=3 ] && named=0
		pairs $named "threads=$threads tids=$tids $gap $jitter $lost names=$names $1 seed=$seed nr=4000"
	done
	done
	done
	done
	done
	done
}
