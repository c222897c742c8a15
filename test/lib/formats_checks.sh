# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# formats_checks.sh - compares every format with the folded stacks; to be sourced after tap.sh

# Debian's Python finds Debian's protobuf; another Python, earlier in PATH, may not.
for python in python3 /usr/bin/python3 ''; do
	[ -z "$python" ] || ! $python -c 'import google.protobuf' 2>/dev/null || break
done
export PB_DIR=. PYTHONDONTWRITEBYTECODE=1

# protobuf_readers: makes the readers of .pb.gz and .pftrace; fails if a tool for them is missing.
protobuf_readers() {
	[ -n "$python" ] && command -v protoc >/dev/null &&
		protoc --proto_path="$XPU_SRC/third_party/pprof" \
		--proto_path="$XPU_SRC/third_party/perfetto" \
			--python_out=. profile.proto perfetto.proto
}

# Adds up folded lines without their last frame.
drop_leaf() {
	sed 's/;[^;]* \([0-9]*\)$/ \1/' | sum_lines
}

sum_lines() {
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
		END { for (line in sum) printf "%s %.0f\n", line, sum[line] }'
}

# Adds up folded lines by kernel.
only_kernels() {
	sed -n 's/.*;\(\[GPU_Kernel\]\)/\1/p' | sum_lines
}

# Replaces each blank in the names of threads by '_', as in perf's text.
blank_comm() {
	awk -F';' -v OFS=';' '{
		gsub(/^[#{]| |\357\273\277/, "_", $1)
		print }' | sum_lines
}

# Drops waits, which have times but no samples.
drop_waits() {
	grep -v ';\[\(GPU_Wait\|Off_CPU\)\][^;]*$'
}

# Prints names of kernels, functions and threads that may confuse a reader, each with a final NUL.
odd_names() {
	printf 'semi;colon\0"quoted"\0back\\slash\0'\''single'\''\0`${1}`\0'
	printf 'new\nline\0tab\tcr\r\0esc\033[31m\0\001\002\037\177\0'
	printf 'bad \200\377 utf-8 \300\257 \355\240\200 \360\237\230\0'
	printf '\303\251\344\270\255\360\237\230\200\0line \342\200\250 \302\205 \357\273\277\0'
	printf '(anonymous namespace)::f(int, char (*)[4])\0a (b)\0operator->\0'
	printf ' blanks  before and after \0-\0a,b\0=1+1\0{}\0[]\0%%s%%n\0</script>\0x 12\0#1\0'
	printf '%10000s\0' '' | tr ' ' k
}

# Removes what a timeline's tracks cannot show. A track has only one name, so the other names of a
# thread are missing. A captured call looks the same as a launch whose kernel was never seen.
only_tracks() {
	sed 's/^[^;]*;//' | grep -v '\[GPU_Launch_Pending\] ' | sum_lines
}

# same NAME FORMAT FILTER FILE_OPTIONS UNIT...: writes a file of FORMAT from NAME.data with
# FILE_OPTIONS, and checks that its reader gets the same stacks as -f folded. The folded stacks
# first pass through the command FILTER, and then both results pass through the command $common. The
# file and the folded stacks are made with the options in $both. READER=UNIT: the reader calls the
# unit READER, and --unit calls it UNIT.
same() {
	name=$1 format=$2 filter=$3 options=$4
	shift 4
	# shellcheck disable=SC2086 # several on purpose
	xpumerge -i "$name.data" $options ${both:-} >file 2>log
	is $? 0 "$name: $options ${both:-}: exit status 0"
	for unit; do
		# shellcheck disable=SC2086
		xpumerge -i "$name.data" --waits -f folded --unit "${unit#*=}" ${both:-} 2>log |
			sed 's/^.waits.;//' | $filter |
			${common:-cat} | LC_ALL=C sort >want
		${python:-python3} "$XPU_SRC/test/lib/formats_checks.py" \
			"$format" file "${unit%=*}" |
			${common:-cat} | LC_ALL=C sort >got
		cmp got want && [ -s want ]
		ok $? "$name: $format${both:+, $both}: $unit of all stacks equal the folded stacks"
	done
}
