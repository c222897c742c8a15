#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Traces whose correlation IDs start again. Each kernel is shown under its own launch, or it is
# counted and shown under no launch.
. "$XPU_SRC/test/lib/tap.sh"
need python3
gen="$XPU_SRC/test/lib/gen_epochs.py"

# check FORMAT LEAST_RIGHT KEY=VALUE...: checks that at least LEAST_RIGHT of 1000 kernels are under
# their own launch
check() {
	format=$1 least=$2
	shift 2
	name="$format $*"
	case $format in
	sql)
		made=$(python3 "$gen" sql out.sql "$@")
		rm -f out.sqlite
		"$XPU_BUILD/gen_sqlite" out.sqlite <out.sql
		xpumerge --nsys out.sqlite -f folded --unit count >out 2>log
		;;
	stacks)
		made=$(python3 "$gen" lines gpu.json "$@")
		python3 "$gen" stacks cpu.txt "$@" >/dev/null
		xpumerge --cpu cpu.txt --gpu gpu.json -f folded --unit count >out 2>log
		;;
	*)
		made=$(python3 "$gen" "$format" gpu.json "$@")
		xpumerge --gpu gpu.json -f folded --unit count >out 2>log
		;;
	esac
	works=${made#* } calls=${made% *}
	# shellcheck disable=SC2046 # words are arguments
	set -- $(python3 "$gen" verdict out)
	case $format in
	lines | text)	# without stacks, only counts show the result
		like "$(cat log)" "^launches $calls matched $calls unmatched 0 lost 0" \
			"$name: all launches are matched" || diag "$(cat log)"
		;;
	*)
		[ "$2" = 0 ] && [ $(($1 + $3)) = "$works" ] &&
			[ $(($1 * 1000)) -ge $((works * least)) ]
		ok $? \
			"$name: device records: $1 right, $2 wrong, $3 without a launch" ||
			diag "$(cat log)"
		;;
	esac
	like "$(cat log)" 'correlation ids restart [0-9]+ times?' \
		"$name: a message says that ids start again" || diag "$(cat log)"
}

# foreign FORMAT RIGHT MESSAGE KEY=VALUE...: checks that RIGHT kernels are under their own launch
# and that all other kernels have no launch. MESSAGE is the reason in the log.
foreign() {
	format=$1 right=$2 why=$3
	shift 3
	name="$format $*"
	if [ "$format" = sql ]; then
		python3 "$gen" sql out.sql "$@" >made
		rm -f out.sqlite
		"$XPU_BUILD/gen_sqlite" out.sqlite <out.sql
		xpumerge --strict --nsys out.sqlite -f folded --unit count >out 2>log
	else
		python3 "$gen" "$format" gpu.json "$@" >made
		xpumerge --strict --gpu gpu.json -f folded --unit count >out 2>log
	fi
	status=$?
	made=$(cut -d' ' -f2 made)
	is "$status: $(python3 "$gen" verdict out)" "1: $right 0 $((made - right))" \
		"$name: $right kernels are under their launches, all other kernels have no launch"
	like "$(cat log)" "device records $why" "$name: a message says why"
}

for format in chrome lines text stacks sql; do
	check $format 1000
	check $format 1000 late=30000
done
for format in chrome stacks sql; do
	check $format 900 lost_calls=0.05
	check $format 700 lost_works=0.05
	check $format 600 lost_calls=0.03 lost_works=0.03 late=30000 seed=2
	check $format 900 first=1 runs=2 nr=3000 lost_calls=0.02 seed=3
	check $format 0 together=1 runs=2 late=100000 seed=4
	check $format 900 runs=200 nr=7
done
check chrome 1000 driver=1
# Device work that can belong to two launches is counted.
python3 "$gen" chrome gpu.json together=1 runs=2 late=100000 >/dev/null
xpumerge --gpu gpu.json --strict -f folded >out 2>log
is "$? $(grep -c 'device records may be of several calls' log)" "1 1" \
	"device work of two possible launches: a message counts it, and --strict fails"
# Records of waits have only an id.
python3 "$gen" chrome gpu.json runs=2 nr=5 >/dev/null
sed 's/"traceEvents": \[/&{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":7,"context":1,"correlation":3}},/' \
	gpu.json >sync.json
xpumerge --gpu sync.json -f folded >out 2>log
like "$(cat log)" 'sync.json: 1 record of waits or memory is of unknown calls, because' \
	"ids that begin again: a message counts the records of waits"
# Without the lost calls, no two calls have the same ID.
for format in chrome sql; do
	for keys in "calls_of=0" "calls_of=1" "turns=1"; do
		# shellcheck disable=SC2086 # words are arguments
		foreign "$format" 0 'may be of several calls' runs=2 gap=50000000 $keys
	done
	foreign "$format" 0 'begin long before' runs=2 gap=5000000000 calls_of=1 works_of=0
	# The device's clock is ahead, so only the first run's work has exactly one possible call.
	foreign "$format" 1000 'may be of several calls' runs=3 nr=1000 gap=20000000 ahead=5000000
done
# Unique IDs stay as they are, without a message.
python3 "$gen" chrome gpu.json runs=1 driver=1 >/dev/null
xpumerge --gpu gpu.json -f folded --unit count >out 2>log
is "$(python3 "$gen" verdict out) $(grep -c again log)" "1000 0 0 0" \
	"ids that do not start again: no message"
done_testing
