#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every format has the contents of the folded stacks. Formats that are published as .proto files are
# read with protoc, so the reader is not our own code.
. "$XPU_SRC/test/lib/tap.sh"
need protoc
gen="$XPU_BUILD/gen_data"

. "$XPU_SRC/test/lib/formats_checks.sh"
[ -n "$python" ] || skip_all "no python3 with google.protobuf (Debian: python3-protobuf)"
protobuf_readers || skip_all "protoc cannot make Python modules"

"$gen" -o plain.data --launches 700 --threads 8 --memcpy-every 4
"$gen" -o graphs.data --launches 700 --threads 8 --procs 3 --graph-every 3 --streams 3 --gpus 2
"$gen" -o lossy.data --launches 700 --threads 2 --lose-launch 7 --lose-record 9
"$gen" -o pending.data --launches 700 --threads 2 --lose-record 9
for name in plain graphs lossy pending; do
	[ $name = plain ] && counts=count || counts=
	same $name pprof cat "-f pprof" ns count bytes
	same $name perf cat "-f perf" ns $counts
	same $name csv drop_leaf "--csv --table launch_sites" ns $counts
	same $name json drop_leaf "--json" ns $counts
	same $name html cat "-f html" ns count bytes
	[ $name = lossy ] || same $name chrome cat "-f chrome" ns $counts
	[ $name = lossy ] || same $name pftrace cat "-f pftrace" ns $counts
done

# ---- launches with their API calls, and an API call inside each of these calls

"$gen" -o calls.data --launches 700 --threads 4 --memcpy-every 4 --graph-every 3 --api
same calls chrome cat "-f chrome" ns count
is "$(grep -c '"dur":0.250,"cat":"launch"' file) $(grep -c '"dur":0.100,"cat":"api"' file)" \
	"700 700" "chrome: launches have the duration of their API calls"
same calls pftrace cat "-f pftrace" ns count
xpumerge -i calls.data --table api_calls --json >calls.json 2>log
like "$(cat log)" 'unmatched 0 lost 0$' "calls: nothing is lost"
is "$(grep -c '"median_ns": 250, ' calls.json) $(grep -o '"calls": [0-9]*' calls.json |
	awk '{ sum += $2 } END { print sum }')" "3 1400" "calls: the table has all of them"

# ---- a time window whose edges cut device work and waits

"$XPU_BUILD/gen_windows" across windows.data >truth
both="--from 1 --to 1.37"
same windows perf cat "-f perf" ns
both="$both --nvtx launching"
for format in pprof chrome pftrace; do
	same windows $format cat "-f $format" ns
done
both=

# ---- several functions and their lines at one address, in a program that was built with inlining

# The program's size decides which of the recorded offsets are in the program's code. Some offsets
# must be in the code.
cp "$XPUMERGE" program
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"$gen" -o inline.data --launches 300 --paths 60 --map "$PWD/program"
	xpumerge -i inline.data -f folded --inline 2>/dev/null | grep -q ' (inlined);' && break
	truncate -s +100003 program
done
for both in --inline --srcline "--inline --srcline"; do
	same inline pprof cat "-f pprof" ns
done
like "$(cat want)" '\([^()]*:[0-9]+\) \(inlined\);' \
	"the recording has inlined functions with source lines"
# shellcheck disable=SC2086
xpumerge inline.data -f pprof $both 2>log | zcat |
	protoc --proto_path="$XPU_SRC/third_party/pprof" \
	--decode=perftools.profiles.Profile profile.proto >inline.txt
[ "$(grep -c '^  line {' inline.txt)" -gt "$(grep -c '^location {' inline.txt)" ]
ok $? "pprof: inlined functions are lines of one location"
both=

# ---- names of all kinds: kernels, functions and threads

odd_names >names
"$gen" -o odd.data --launches 200 --paths 40 --threads 30 --names names --name-all --map "$PWD/odd"
same odd pprof cat "-f pprof" ns
same odd perf blank_comm "-f perf" ns
same odd csv drop_leaf "--csv --table launch_sites" ns
same odd json drop_leaf "--json" ns
same odd html cat "-f html" ns
same odd names only_kernels "--csv --table kernels" ns count
same odd names only_kernels "--json" ns count
same odd chrome cat "-f chrome" ns
same odd pftrace cat "-f pftrace" ns
xpumerge odd.data -f folded >folded 2>log
long=$(printf '%10000s' '' | tr ' ' k)
for name in 'semi:colon' 'new?line' '"quoted"' 'back\slash' 'esc?[31m' '????' "$long"; do
	grep -qF ";[GPU_Kernel]$name " folded && grep -qF ";$name;" folded
	ok $? "folded: a kernel and a function '$(printf %.20s "$name")' are read back"
done

# ---- pprof: the other data that pprof's readers use

xpumerge plain.data -f pprof 2>log | zcat | protoc --proto_path="$XPU_SRC/third_party/pprof" \
	--decode=perftools.profiles.Profile profile.proto >plain.txt
is $? 0 "pprof: protoc decodes the profile with the published description"
for string in comm pid tid device stream /nonexistent/app; do
	is "$(grep -c "^string_table: \"$string\"\$" plain.txt)" 1 \
		"pprof: '$string' is in the string table"
done
is "$(sed -n 's/^string_table: "\(launches .*\)"/\1/p' plain.txt)" \
	"$(grep ^launches log)" "pprof: the profile has the account as a comment"

# top TYPE: prints the sum of all values of a type, and the innermost functions that have values,
# like pprof -top
top() {
	"$python" - "$1" stalls.txt <<'END'
import re
import sys

text = open(sys.argv[2]).read()
strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
types = [strings[int(n)] for n in re.findall(r"^sample_type \{\n  type: (\d+)", text, re.M)]
functions = dict(re.findall(r"^function \{\n  id: (\d+)\n  name: (\d+)", text, re.M))
leaves = dict(re.findall(r"^location \{\n  id: (\d+)\n(?:  [ma].*\n)*  line \{\n"
                         r"    function_id: (\d+)", text, re.M))
names, total = set(), 0
for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
    value = int(re.findall(r"value: (\d+)", sample)[types.index(sys.argv[1])])
    if value:
        names.add(strings[int(functions[leaves[re.search(r"location_id: (\d+)", sample)[1]]])])
        total += value
print(total, *sorted(names), sep="\n")
END
}
xpumerge "$XPU_SRC/test/t1/corpus/2.9.xpu" -f pprof 2>log | zcat |
	protoc --proto_path="$XPU_SRC/third_party/pprof" \
		--decode=perftools.profiles.Profile profile.proto >stalls.txt
top gpu >top.gpu
is "$(grep -c '^\[GPU_Kernel\]' top.gpu) $(grep -c stall top.gpu)" "2 0" \
	"pprof -top lists kernels, not the reasons of their stalls" || diag "$(cat top.gpu)"
top stall >top.stall
is "$(grep -c '^\[stall\]' top.stall) $(grep -vc stall top.stall)" "3 1" \
	"pprof: stalls are a separate sample type" || diag "$(cat top.stall)"
is "$(head -n 1 top.stall)" "$(xpumerge "$XPU_SRC/test/t1/corpus/2.9.xpu" -f folded --unit ns \
	2>/dev/null | awk '/\[stall\]/ { n += $NF } END { print n }')" \
	"pprof: the total time of stalls is the same as with -f folded"

done_testing
