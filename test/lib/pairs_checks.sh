# SPDX-License-Identifier: GPL-3.0-or-later
# pairs_checks.sh - imports two files whose right matches are known, and counts right, wrong and
# uncertain launches
#
# pairs NAMED "KEY=VALUE ...": makes and imports two such files, and calls row NAMED KEYS RIGHT
# WRONG UNCERTAIN NONE. NAMED is 1 if the stacks name their kernels, and these names identify the
# call paths. A launch is also wrong if it has a stack and is reported as having lost it.
# shellcheck shell=sh

pairs() {
	# shellcheck disable=SC2086 # words are arguments
	"$XPU_BUILD/gen_pairs" cpu.txt gpu.json truth $2 || exit 1
	"${XPU_PAIRS_MERGE:-$XPU_BUILD/xpumerge}" --cpu cpu.txt --gpu gpu.json \
		-f perf >pairs.out 2>pairs.log
	# shellcheck disable=SC2046 # words are arguments
	row "$1" "$2" $("$XPU_BUILD/gen_pairs" verdict truth <pairs.out)
}

# pairs_truth SEED NR: makes and imports NR recordings, in which losses, steps, drift, missing ends,
# IDs, threads, APIs and gaps vary at random. Prints the numbers of right, wrong and uncertain
# launches of each recording. A recording passes if at most one in 1000 of the certain launches is
# wrong, no launch is reported to have lost a stack that it has, and the result has no more launches
# than were made.
pairs_truth() {
	pairs_seed=$1 pairs_left=$2
	while [ "$pairs_left" -gt 0 ]; do
		pairs_keys=$(awk -v seed="$pairs_seed$pairs_left" \
			'function c(s, v, n) { n = split(s, v, "|"); return v[1 + int(rand() * n)] }
			BEGIN { srand(seed); tids = c("same|other|pid|pid")
			print "seed=" seed, "nr=" c("1000|4000"), "tids=" tids,
			"threads=" c("1|2|4|8|16"),
			c("gap=0.3 work=0.2|gap=0.3 work=0.2 burst=200 pause=1000|" \
			  "gap=1 work=10 shape=exp|gap=10 work=100 shape=exp|gap=2000 work=0.5|" \
			  "gap=100 work=2|gap=50 work=500 shape=exp|gap=0.3 work=20|" \
			  "gap=100 work=5 burst=50 pause=2000"),
			c("|delay=0.2 jitter=0.5|jitter=10|jitter=50 shape=exp"),
			c("|lost=0.01|lost=0.05|lost=0.1|lost=0.2|lost=0.3|" \
			  "lost=0.05 run=20|lost=0.1 run=50|lost=0.2 run=100"),
			c("|||lost_calls=0.01|lost_calls=0.05|lost_calls=0.2|" \
			  "head=0.1|head=0.1 tail=0.1|tail=0.2|late=0.1"),
			c("|||drift=40|drift=-40|step=0.05|step=2|step=20"), c("|apis=1|apis=1"),
			c("kernels=30|kernels=3|kernels=1000|kernels=8000"), c("|||names=nvcc"),
			c("||loop=10|loop=200|noise=0.1"),
			c("|||step_at=0.1|step_at=0.3|step_at=0.8|step_at=0.95") }')
		pairs_one "$pairs_keys"
		pairs_left=$((pairs_left - 1))
	done
}

# pairs_search SEED NR: makes and checks NR small recordings. Durations vary from 0.1 us to 2 ms,
# the ends of the recordings are cut in all ways, and the clocks step by 1 us to 100 ms.
pairs_search() {
	pairs_seed=$1 pairs_left=$2
	while [ "$pairs_left" -gt 0 ]; do
		pairs_keys=$(awk -v seed="$pairs_seed$pairs_left" \
			'function c(s, v, n) { n = split(s, v, "|"); return v[1 + int(rand() * n)] }
			function us(from, to) {
			return sprintf("%.3g", 10 ^ (from + (to - from) * rand())) }
			BEGIN { srand(seed)
			print "seed=" seed, "nr=" c("60|200|400|1000|2000"),
			"threads=" c("1|1|1|2|3|4|8"),
			"tids=" c("same|same|same|other|pid"), "gap=" us(-1, 3.3),
			"work=" us(-1, 3.3), "jitter=" us(-1, 3.3),
			"delay=" us(-1, 1), "dur=" us(-0.3, 2), "dur_jitter=" c("0|" us(-0.3, 3)),
			"shape=" c("exp|exp|uniform"),
			c("|||burst=" c("2|3|10|50|200") " pause=" us(1, 3.5)),
			c("|||lost=0.01|lost=0.1|lost=0.3|lost=0.1 run=20"),
			c("|||lost_calls=0.01|lost_calls=0.1|lost_calls=0.3"),
			c("||head=" us(-3, -0.5) "|tail=" us(-3, -0.5) "|head=0.1 tail=0.1|" \
			  "late=" us(-3, -0.7) \
			  "|both=0.1 both_end=0.1|both=0.3 both_end=0.3|cut=1|cut=3"),
			c("|||drift=40|drift=-40|step=0.05|step=0.05|step=" us(-3, 2) \
			  "|step=-" us(-3, 1)),
			c("|||||apis=1"), "kernels=" c("30|8000|8000"),
			c("||||||names=nvcc"), c("|||loop=2|loop=3|loop=10|noise=0.1|noise=1"),
			c("||||paths=3|own=1"), c("|||apart=0|apart=0|apart=1"),
			c("|||step_at=0.1|step_at=0.3|step_at=0.8|step_at=0.95") }')
		pairs_one "$pairs_keys"
		pairs_left=$((pairs_left - 1))
	done
}

# pairs_families: checks recordings that once had wrong matches or invented launches.
pairs_families() {
	# Both files cover the same part of the program. The stack of a waiting call comes before
	# the call.
	waits="nr=1000 gap=10 work=2 jitter=100 apart=0 shape=exp both=0.1"
	for keys in "threads=1 seed=1" "threads=4 seed=1" "threads=1 seed=4" "threads=8 seed=6"; do
		pairs_one "$waits $keys both_end=0.1"
	done
	pairs_one "$waits"
	pairs_one seed=550576 nr=1000 tids=other gap=3.46 work=1.54 jitter=1850 delay=1.76 \
		dur=33.3 shape=exp both=0.1 both_end=0.1 kernels=8000 paths=3
	pairs_one seed=589690 nr=400 tids=other gap=54.2 work=15.8 jitter=1610 delay=7.67 dur=42.2 \
		dur_jitter=4.93 shape=exp burst=2 pause=49 late=0.00118 loop=10 apart=0
	# The files have few events, and both files lack some events.
	pairs_one seed=71982 nr=60 gap=448 work=1.91 jitter=0.604 delay=2.31 dur=14.7 \
		dur_jitter=43.4 shape=exp cut=3 paths=3 apart=0
	pairs_one seed=680096 nr=60 threads=3 gap=36.3 work=5.84 jitter=2.84 delay=8.88 dur=32.1 \
		dur_jitter=14.5 shape=uniform head=0.1 tail=0.1 kernels=8000 loop=10 apart=0
	pairs_one nr=4 tids=other gap=255 work=4.33 jitter=0.27 delay=0.217 dur=18.1 \
		dur_jitter=5.58 shape=exp cut=1 kernels=8000 seed=754473
	pairs_one seed=2682 nr=60 tids=same gap=15 work=20.9 jitter=0.911 delay=2.88 dur=23.3 \
		shape=uniform burst=2 pause=53.4 lost=0.1 run=20 both=0.1 both_end=0.1 step=0.05 \
		apis=1 kernels=8000 step_at=0.8
	# The cuts at both ends leave no event.
	pairs_one seed=13338 nr=60 gap=0.223 work=0.17 jitter=2.77 delay=0.349 dur=0.524 \
		shape=uniform lost=0.3 lost_calls=0.1 both=0.1 both_end=0.1 step=-0.00947 \
		kernels=8000 loop=2
	# A clock steps by half of the time between two launches, or by the length of the
	# recording.
	pairs_one seed=778366 nr=200 tids=other gap=29.6 work=0.128 jitter=8.81 delay=6.89 \
		dur=39.5 dur_jitter=0 shape=exp step=0.05 kernels=8000 apart=1
	pairs_one seed=753675 nr=200 threads=16 tids=other gap=3.28744 work=16.5069 shape=exp \
		delay=0.1 jitter=0.1 dur=3 dur_jitter=300 lost_calls=0.01 tail=0.1 step=20 apis=1 \
		kernels=8000 noise=0.1 paths=3 apart=0
	pairs_one seed=2501 nr=200 tids=pid gap=27.3 work=11.7 jitter=1.25 delay=0.588 dur=2.82 \
		dur_jitter=0 shape=exp burst=200 pause=429 cut=1 step=0.05 kernels=8000 loop=3 \
		apart=0
	pairs_one seed=4339 nr=2000 tids=other gap=7.02 work=140 jitter=0.384 delay=7.8 dur=11.2 \
		dur_jitter=0 shape=exp cut=1 step=0.05 step_at=0.95 kernels=8000 own=1
	pairs_one seed=6151 nr=2000 threads=4 gap=9.86 work=0.658 jitter=201 delay=1.69 dur=1.23 \
		dur_jitter=40.8 lost=0.01 lost_calls=0.1 step=2 step_at=0.95 paths=3
	pairs_one seed=6140 nr=2000 gap=1.16e+03 work=881 jitter=414 delay=1.96 dur=67.8 \
		dur_jitter=120 shape=exp burst=10 pause=13.7 cut=3 step=20 step_at=0.95 \
		kernels=8000 loop=2 paths=3
	pairs_one seed=764 nr=1000 threads=2 gap=20 work=28.1 jitter=83.2 delay=0.375 dur=3.46 \
		dur_jitter=0 lost_calls=0.01 step=-0.0562 step_at=0.1 noise=1 apart=0
	# The clock was set, and the kernels' names identify all call paths.
	pairs_one seed=777468 nr=200 tids=pid gap=10 work=2 jitter=10 dur=5 dur_jitter=20 late=0.1 \
		step=2 kernels=2 names=hip loop=3
	# The files have the process ID instead of the thread ID, and calls of several APIs. They
	# lack 5 to 20 % of the stacks.
	pid="tids=pid apis=1 kernels=8000"
	pairs_one "seed=678 nr=8000 $pid threads=4 gap=0.68 work=4.19 shape=exp lost=0.2"
	pairs_one "seed=276 nr=8000 $pid threads=8 gap=2.57 work=6.29 shape=exp lost=0.05"
	pairs_one "seed=221 nr=8000 $pid threads=2 gap=5.74 work=43.4 shape=exp lost=0.1"
	pairs_one "seed=668 nr=8000 $pid threads=8 gap=8.25 work=3.77 shape=exp lost=0.2 run=5"
	pairs_one seed=817779 nr=4000 $pid threads=2 procs=2 gap=0.1 work=0.1 dur=0.5 \
		dur_jitter=0.1 lost=0.2 run=100
	# Launches come in bursts.
	pairs_one seed=580 nr=8000 kernels=8000 threads=2 gap=0.3 work=1.41 burst=10 pause=3000 \
		jitter=10
	pairs_one seed=809 nr=8000 kernels=8000 threads=8 gap=0.3 work=7.21 burst=10 pause=1000 \
		jitter=62.8 tids=pid shape=exp
	# The file of calls lacks the first 10 % of the time.
	head="head=0.1 kernels=8000 shape=exp"
	pairs_one seed=753 nr=300 $head burst=50 pause=1000 threads=2 gap=76.4 work=0.716 \
		jitter=84.4 tids=pid
	pairs_one seed=687 nr=300 $head burst=50 pause=1000 threads=4 gap=8.14 work=1.12 \
		jitter=39.3 tids=pid
	pairs_one "seed=924 nr=2000 $head apis=1 threads=2 gap=5.27 work=173 jitter=46.9 tids=pid"
	pairs_one seed=437251 nr=4000 $head tids=pid gap=100 work=5 burst=50 pause=2000 jitter=50 \
		dur=3 dur_jitter=300 lost=0.2 step=20
	# A launch comes every 2 ms: the offset was once wrong by 2 ms.
	pairs_one seed=86 nr=1000 kernels=8000 gap=2000 work=0.5 delay=1.21 jitter=917 shape=exp \
		threads=4 lost=0.1 lost_calls=0.05
	pairs_one seed=62 nr=1000 kernels=8000 gap=2000 work=0 delay=0.467 jitter=443 shape=exp \
		lost=0.1
}

# pairs_ordinary: checks recordings like those that perf and Nsight Systems make of ordinary
# programs.
pairs_ordinary() {
	usual="nr=2000 gap=2 work=5 shape=exp jitter=1 dur=4 dur_jitter=2"
	for keys in "" "threads=4" "lost=0.01" "burst=100 pause=5000" \
		"threads=4 burst=100 pause=5000 drift=20" \
		"threads=4 burst=100 pause=5000 names=nvcc lost=0.05" "both=0.1 both_end=0.1"; do
		pairs_one "$usual $keys"
	done
	usual="nr=2000 gap=2 work=30 shape=exp jitter=2 dur=4 dur_jitter=5"
	for keys in "" "threads=4 lost=0.01" "both=0.1 both_end=0.1" "work=300" \
		"jitter=10 work=300 lost=0.01" \
		"work=1000 threads=4 nr=8000" "nr=100" "nr=50" "nr=20 names=nvcc" \
		"threads=4 tids=other" \
		"threads=4 tids=pid apis=1" "threads=4 tids=pid names=nvcc"; do
		pairs_one "$usual $keys"
	done
}

# pairs_clock CLOCK KEYS: makes and imports a recording, and checks what --summary says about its
# clocks.
pairs_clock() {
	pairs_expected=$1
	shift
	# shellcheck disable=SC2048,SC2086 # words are arguments
	"$XPU_BUILD/gen_pairs" cpu.txt gpu.json truth $* || exit 1
	"${XPU_PAIRS_MERGE:-$XPU_BUILD/xpumerge}" --cpu cpu.txt --gpu gpu.json --summary -f perf \
		>pairs.out 2>pairs.log
	like "$(grep '^  clock of the stacks' pairs.log)" "$pairs_expected" \
		"the summary is right about the clocks: $*"
}

# pairs_not_set KEYS: makes and imports a recording, and checks that no message says that a clock
# was set.
pairs_not_set() {
	# shellcheck disable=SC2048,SC2086 # words are arguments
	"$XPU_BUILD/gen_pairs" cpu.txt gpu.json truth $* || exit 1
	"${XPU_PAIRS_MERGE:-$XPU_BUILD/xpumerge}" --cpu cpu.txt --gpu gpu.json -f perf \
		>pairs.out 2>pairs.log
	is "$(grep 'to have been set' pairs.log)" "" "no clock was set: $*"
}

# pairs_clocks: checks what the account says about clocks that were set, and clocks that were not.
pairs_clocks() {
	pairs_clock="  clock of the stacks against the clock of the calls"
	pairs_set="$pairs_clock, one of which seems to have been set:"
	pairs_369="\\+369[.]99.* ms for" pairs_371="\\+371[.]99.* ms for"
	pairs_clock "  clock of the stacks \\+369[.]99.* ms against the clock of the calls, drift " \
		nr=2000 names=nvcc
	pairs_clock \
		"$pairs_set $pairs_369 94[0-9] stacks, then $pairs_371 105[0-9] stacks; jitter " \
		nr=2000 step=2
	pairs_clock \
		"$pairs_set $pairs_369 178[0-9] stacks, then $pairs_371 21[0-9] stacks; jitter " \
		nr=2000 step=2 step_at=0.9 gap=2 work=30 shape=exp
	pairs_367="\\+367[.]99.* ms for [0-9]+ stacks"
	pairs_clock "$pairs_set $pairs_369 [0-9]+ stacks, then $pairs_367; jitter " \
		nr=2000 step=-2 gap=2 work=30 shape=exp
	pairs_then="then $pairs_371 137 stacks, then unknown for 35 stacks"
	pairs_clock "$pairs_set $pairs_369 28 stacks, $pairs_then; " seed=777468 nr=200 tids=pid \
		gap=10 work=2 jitter=10 dur=5 dur_jitter=20 late=0.1 step=2 kernels=2 names=hip \
		loop=3
	pairs_clock "$pairs_set unknown for 94 stacks, then unknown for 105 stacks; " seed=2501 \
		nr=200 tids=pid gap=27.3 work=11.7 jitter=1.25 delay=0.588 dur=2.82 dur_jitter=0 \
		shape=exp burst=200 pause=429 cut=1 step=0.05 kernels=8000 loop=3 apart=0
	pairs_clock "$pairs_clock: unknown for 363 stacks, then $pairs_369 1637 stacks; " nr=2000 \
		head=0.2 gap=2 work=30 shape=exp names=nvcc
	# The clocks drift, and the offset is not adjusted.
	pairs_not_set seed=100266 nr=2000 tids=same gap=748 work=87.4 jitter=0.202 delay=0.211 \
		dur=1.58 dur_jitter=0 shape=uniform lost=0.1 late=0.1 drift=-40 kernels=30 apart=0
	pairs_not_set seed=100190 nr=2000 tids=pid gap=350 work=1.19 jitter=54.8 delay=6.4 \
		dur=7.73 dur_jitter=0.767 shape=exp lost=0.1 run=20 late=0.134 drift=-40 \
		kernels=30 loop=10 apart=0
	# Launches come at equal intervals, and some launches are missing at the ends of the files.
	pairs_not_set seed=100141 nr=4000 tids=other threads=2 gap=100 work=2 delay=0.2 jitter=0.5 \
		lost=0.05 run=20 head=0.1 tail=0.1 kernels=8000 loop=10
	pairs_not_set seed=100042 nr=1000 tids=pid gap=1.41e+03 work=6.88 jitter=4.99 delay=1.64 \
		dur=42.9 dur_jitter=41.8 shape=exp lost=0.3 head=0.1 tail=0.1 kernels=8000 loop=3 \
		own=1
	# Parts with few stacks match other parts by chance.
	pairs_not_set seed=100331 nr=4000 tids=other threads=4 gap=100 work=5 burst=50 pause=2000 \
		lost=0.1 drift=40 kernels=8000
	pairs_not_set seed=100023 nr=1000 tids=same threads=4 gap=0.3 work=0.2 lost=0.1 run=50 \
		head=0.1 tail=0.1 apis=1 kernels=3 names=nvcc
}

# pairs_waits SEED NR: makes and checks NR recordings whose threads wait for each other inside their
# calls. Each stack comes soon after the previous call, and long before its own call.
pairs_waits() {
	for pairs_seed in $(seq "$1" $(($1 + $2 - 1))); do
		pairs_one nr=1000 threads=2 tids=pid gap=0.3 work=0.2 burst=200 pause=1000 \
			jitter=50 shape=exp lost=0.05 kernels=3 seed=$pairs_seed
		pairs_one nr=1000 threads=$((pairs_seed % 8 + 1)) tids=same gap=10 work=2 \
			jitter=100 shape=exp apart=0 late=0.02 seed=$pairs_seed
	done
}

# pairs_one KEY=VALUE...: makes and imports one recording, and compares the result with the truth
pairs_one() {
	# shellcheck disable=SC2048,SC2086 # words are arguments
	"$XPU_BUILD/gen_pairs" cpu.txt gpu.json truth $* || exit 1
	"${XPU_PAIRS_MERGE:-$XPU_BUILD/xpumerge}" --cpu cpu.txt --gpu gpu.json \
		-f perf >pairs.out 2>pairs.log
	if [ ! -s cpu.txt ]; then
		empty_row "$*" "$(cat pairs.log)"
		return
	fi
	# shellcheck disable=SC2046 # words are arguments
	truth_row "$*" $("$XPU_BUILD/gen_pairs" verdict truth <pairs.out) \
		"$(sed -n 's/^launches \([0-9]*\) .*/\1/p' pairs.log)"
}

# No stack is left after the cuts.
empty_row() {		# empty_row KEYS MESSAGES
	like "$2" '^xpumerge: cpu.txt: cannot find any stacks: ' "nothing to join: $1"
}

truth_row() {		# truth_row KEYS RIGHT WRONG UNCERTAIN NONE SEEN LAUNCHES
	[ $(($3 * 1000)) -le $(($2 + $3)) ] && [ $(($2 + $3 + $4 + $5)) -gt 0 ] && [ "$7" -le "$6" ]
	ok $? "right $2 wrong $3 uncertain $4 none $5 launches $7 of $6: $1"
}

# Runs the small table, which is part of the test suite.
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
	# The time from a stack to its call varies like work; the time from the call to the next
	# stack hardly varies.
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
