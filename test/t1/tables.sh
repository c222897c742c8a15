#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge -o DIR/ writes tables in Parquet. The tests' own reader finds the same contents in these
# tables as in the other formats. Also tested: the directory of several recordings, and files that
# xpumerge does not touch.
. "$XPU_SRC/test/lib/tap.sh"
gen=$XPU_BUILD/gen_data

# rows DIR TABLE: prints the table of all ranks, after a line with column names
rows() {
	# shellcheck disable=SC2046 # several files
	"$XPU_BUILD/unparquet" $(find "$1/$2" -name '*.parquet' | LC_ALL=C sort)
}

# folded DIR: prints folded stacks in ns from the tables, without launches that have no work
folded() {
	for table in paths device samples waits; do
		rows "$1" $table | sed "s/^/$table	/"
	done | awk -F'\t' -v numbered="$(grep -c '\[GPU[0-9]' "$1.want")" '
	function clean(s) { gsub(/;/, ":", s); return s }
	function add(line, ns) { sum[line] += ns }
	$2 == "process_id" {
		for (i = 2; i <= NF; i++)
			at[$1, $i] = i
		next
	}
	function get(name) { return $at[$1, name] }
	function path() { return clean(get("comm")) ";" text[get("process_id"), get("path_id")] }
	$1 == "paths" { text[get("process_id"), get("path_id")] = get("path") }
	$1 == "device" { nr++; row[nr] = $0; next }
	$1 == "samples" { add(path(), get("period_ns")) }
	$1 == "waits" {
		label = get("kind") == "gpu_wait" ? "[GPU_Wait]" : "[Off_CPU]"
		add(path() ";" label clean(get("name")), get("duration_ns"))
	}
	END {
		for (i = 1; i <= nr; i++) {
			$0 = row[i]
			kind = get("kind")
			label = kind == "kernel" ? "Kernel" : kind == "memcpy" ? "Memcpy" : "Memset"
			name = kind == "memset" ? "" : clean(get("name"))
			add(path() ";[GPU" (numbered > 0 ? get("gpu") : "") "_" label "]" name,
				get("duration_ns"))
		}
		for (line in sum)
			printf "%s %.0f\n", line, sum[line]
	}' | LC_ALL=C sort
}

# Merges lines that differ only in the place and the stall reason, and leaves out launches without
# work.
whole_kernels() {
	sed 's/;[^;]*;\[stall\][^;]*\( [0-9]*\)$/\1/' | grep -v ';\[GPU_Launch_Pending\] ' |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
		END { for (line in sum) printf "%s %.0f\n", line, sum[line] }' |
		LC_ALL=C sort
}

# same NAME [ARG...]: checks that the tables of NAME.data have the folded stacks and the loss counts
# of NAME.data
same() {
	name=$1
	shift
	rm -rf "$name"
	xpumerge "$name.data" -o "$name/" "$@" 2>"$name.log"
	xpumerge "$name.data" --waits -f folded --unit ns "$@" 2>"$name.want.log" |
		sed 's/^.waits.;//' |
		whole_kernels >"$name.want"
	folded "$name" >"$name.got" 2>"$name.err"
	cmp "$name.got" "$name.want" && [ -s "$name.got" ]
	ok $? "$name $*: $(wc -l <"$name.want") folded lines agree with the tables" ||
		{ diff "$name.got" "$name.want" | head -n 20; cat "$name.err"; } | sed 's/^/# /'
	is "$(cat "$name.log")" "$(cat "$name.want.log")" \
		"$name $*: the printed account is the same as with -f folded"
}

# count DIR TABLE [AWK_CONDITION]: prints the number of rows
count() {
	rows "$1" "$2" |
		awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i;
		next } '"${3:-1}"' { n++ } END { print n + 0 }'
}

# account DIR COUNTER: prints the counter from the table of losses
account() {
	rows "$1" losses |
		awk -F'\t' -v counter="$2" '$2 == counter { n += $3 } END { print n + 0 }'
}

"$gen" -o plain.data --launches 3000 --threads 8 --memcpy-every 4
"$gen" -o graphs.data --launches 2000 --threads 8 --procs 3 --graph-every 3 --streams 3 --gpus 2
"$gen" -o lossy.data --pid 5000 --launches 2000 --threads 2 --lose-launch 7 --lose-record 9 --early
"$gen" -o calls.data --launches 700 --threads 4 --memcpy-every 4 --graph-every 3 --api
# More than one row group.
"$gen" -o many.data --launches 200000 --paths 300 --threads 3
for name in plain graphs lossy calls many; do
	same $name
	is "$(count $name launches)" "$(account $name launches)" \
		"$name: the table has a row for each launch"
	is "$(count $name device)" "$(account $name works)" \
		"$name: the table has a row for each device record"
done
is "$(account lossy nr_pending) $(account lossy nr_orphans)" \
	"$(sed -n 's/^ *\([0-9]*\) launches without device work.*/\1/p' lossy.log) $(sed -n \
	's/^ *\([0-9]*\) device records whose launch.*/\1/p' lossy.log)" \
		"the table of losses has the lost launches"
same graphs --graph launch
same graphs --graph both
same graphs --device 1
is "$(count graphs launches)" "$(rows graphs device | cut -f 1,2 | sed 1d | sort -u | wc -l)" \
	"with a filter: launches have rows if their device work passes the filter"
same plain --tid 301000
same plain --kernel site2

# The recording of each format version, with samples, waits, ranges, metrics and stalls.
for file in "$XPU_SRC"/test/t1/corpus/*.xpu; do
	name=$(basename "$file" .xpu)
	cp "$file" "$name.data"
	same "$name"
done
is "$(count calls calls) $(xpumerge calls.data --csv --table api_calls 2>/dev/null | awk -F, '
	NR > 1 { n += $3 } END { print n }')" "1400 1400" "the table of calls has all calls"
last=$(basename "$(find "$XPU_SRC/test/t1/corpus" -name '*.xpu' | LC_ALL=C sort | tail -n 1)" .xpu)
is "$(rows "$last" ranges | awk -F'\t' '$3 == "step" { print $4, $6 }')" "step 2000" \
	"the table of ranges has an NVTX range"
is "$(rows "$last" launches | awk -F'\t' '$2 == 1 { print $7 }')" "step;NCCL:all:reduce" \
	"the table of launches has the ranges of each launch"
is "$(rows "$last" metrics |
	awk -F'\t' '$4 == "energy_j" { n++; sum += $8 } END { print n, sum }')" "3 4" \
	"the table of metrics has a row for each value"
is "$(rows "$last" metrics | grep -c 'dram_read_percent.*NULL$')" 1 \
	"a metric without a value is NULL"
is "$(rows "$last" allocations | awk -F'\t' '$4 == "made" { print $5, $8, $11, $12 }' |
	tr '\n' ' ')" \
	"device 8388608 0 step;NCCL:all:reduce block 1048576 2 step;NCCL:all:reduce block 3145728 4 NULL pinned 100 5 NULL graphs 4194304 5 NULL " \
	"the table of allocations has a row for each event"
is "$(rows "$last" allocations | grep -c 'freed	block.*NULL$')" 1 \
	"the table of allocations: a free has no call path"
is "$(rows "$last" windows | cut -f 2- | tail -n 1) $(count plain windows)" \
	"1	900	15000	9 0" \
	"the table of windows has a row for each window of --capture, and no other row"
is "$(rows "$last" frames | awk -F'\t' 'NR > 1 { n[$2]++ } END { for (p in n) print p, n[p] }' |
	sort)" "$(rows "$last" paths | awk -F'\t' 'NR > 1 { print $2, $5 }' | sort)" \
		"the tables of paths and of frames have equal numbers of frames"

# ---- the schema equals the documentation

for table in launches device paths frames processes ranges calls samples waits allocations \
	migrations metrics windows losses; do
	awk -v table="**$table**" \
		'index($0, table) == 1 { on = 1; next } on && /^\*\*|^## / { exit }
		on && /^\| / && !/^\| column/ { gsub(/ *\| */, "|"); split($0, c, "|");
		print c[2], c[3] }' \
		"$XPU_SRC/doc/tables.md" >want
	"$XPU_BUILD/unparquet" -s plain/$table/rank=-1/*.parquet >got
	[ -s want ] && cmp want got
	ok $? "doc/tables.md has the columns of $table" || diff want got | sed 's/^/# /'
done
schema=$(sed -n 's/.*`xpuload.schema` (.* now \([0-9]*\):.*/\1/p' "$XPU_SRC/doc/tables.md")
like "$("$XPU_BUILD/unparquet" -k plain/device/rank=-1/*.parquet | tr '\n' ' ')" \
	"^xpuload.schema=$schema xpuload.recording=[0-9a-f]{16} xpuload.host=host xpuload.clock=CLOCK_MONOTONIC xpuload.realtime_ns=[0-9]+ $" \
	"each file has its schema's version and its clock"

# ---- the directory

files() {
	(cd "$1" && find . -type f | LC_ALL=C sort)
}
same plain
files plain >before
rows plain device | cksum >sum
xpumerge -f parquet -o plain plain.data 2>/dev/null
is "$(files plain)" "$(cat before)" "a second merge writes the same files"
mkdir empty
xpumerge -o empty plain.data 2>/dev/null
is "$(rows empty device | cksum)" "$(cat sum)" "an existing directory needs neither a slash nor -f"
xpumerge -o both/ plain.data lossy.data 2>/dev/null
is "$(count both device)" $(($(count plain device) + $(count lossy device))) \
	"merging two recordings gives the rows of both"
xpumerge -o one/ plain.data 2>/dev/null
xpumerge -o one/ lossy.data 2>/dev/null
"$gen" -o far.data --launches 500 --host 2
xpumerge -o far/ far.data 2>/dev/null
xpumerge -o three/ plain.data far.data lossy.data 2>/dev/null
xpumerge -o far/ plain.data 2>/dev/null
xpumerge -o far/ lossy.data 2>/dev/null
for table in launches device processes paths; do
	rows three $table | sort >want
	rows far $table | sort >got
	cmp want got
	ok $? "recordings of several hosts, merged one by one or at once, give equal rows: $table"
done
is "$(rows one device | sort | cksum)" "$(rows both device | sort | cksum)" \
	"merging recordings one by one gives the same rows as merging them together"
xpumerge -o one/ lossy.data --kernel site1 2>/dev/null
[ "$(count one device)" -lt "$(count both device)" ] &&
	[ "$(count one device)" -gt "$(count plain device)" ]
ok $? "merging one recording again replaces its rows, and leaves other recordings' rows"
is "$(find . -name '*.tmp')" "" "no temporary file is left"

# Four ranks in one recording, as mpirun starts them, and one rank that is recorded alone.
"$gen" -o four.data --launches 4000 --procs 4 --rank 3 --threads 2
"$gen" -o seven.data --launches 1000 --rank 7 --pid 7000
xpumerge -o job/ four.data 2>/dev/null
xpumerge -o job/ seven.data 2>/dev/null
is "$(cd job/device && echo *)" "rank=-1 rank=3 rank=4 rank=5 rank=6 rank=7" \
	"each rank has a partition"
is "$(for rank in 3 4 5 6 7; do "$XPU_BUILD/unparquet" job/launches/rank=$rank/*.parquet | sed 1d |
	cut -f 1 |
	sort | uniq -c | awk '{ print $1, NF }'; done | tr '\n' ' ')" \
	"1000 2 1000 2 1000 2 1000 2 1000 2 " "each partition has the launches of its process"
is "$("$XPU_BUILD/unparquet" job/processes/rank=4/*.parquet |
	awk -F'\t' 'NR == 2 { print $4, $15 }')" "app2 job" \
	"each partition has the labels of its rank"
is "$("$XPU_BUILD/unparquet" job/losses/rank=7/*.parquet |
	grep -c launches) $("$XPU_BUILD/unparquet" \
	job/losses/rank=-1/*.parquet | awk -F'\t' '$2 == "launches" { print $3 }')" \
	"$("$XPU_BUILD/unparquet" job/losses/rank=7/*.parquet | grep -c launches) 4000" \
		"a recording's losses belong to its rank if it has one rank only, otherwise to no rank"
xpumerge -o job/ four.data --rank 5 2>/dev/null
is "$(count job launches)" 2000 \
	"--rank removes only the rows of the recording's other ranks"
# An older merge into the same directory had other ranks.
mkdir job/device/rank=99
for recording in job/device/rank=3/*; do
	cp "$recording" job/device/rank=99/
done
cp job/device/rank=7/* job/device/rank=99/part-0123456789abcdef.parquet
xpumerge -o job/ four.data 2>/dev/null
is "$(ls job/device/rank=99)" part-0123456789abcdef.parquet \
	"only files of an older merge are removed"

mkdir others
echo mine >others/file
xpumerge -o others/ plain.data 2>log
is "$? $(cat others/file) $(files others | wc -l)" "2 mine 1" \
	"a directory with other files is refused"
like "$(cat log)" \
	"^xpumerge: others/: cannot be written: it has other files than tables: give an empty" \
	"a directory with other files: the message says why it is refused"
sed -i 's/1/99/' one/_xpuload_tables
xpumerge -o one/ plain.data 2>log
is "$?" 2 "tables of another schema are refused"
like "$(cat log)" "of another version of the schema" \
	"tables of another schema: the message says why they are refused"
xpumerge -f parquet plain.data >out 2>log
is "$? $(cat log) $(wc -c <out)" "2 xpumerge: expected -o DIR/: parquet is a directory of files 0" \
	"tables need a directory, not stdout"
xpumerge -o before/ plain.data 2>log
is "$?" 2 "a file instead of the directory is refused"
xpumerge diff -f parquet -o d/ plain.data lossy.data 2>log
is "$?" 2 "a comparison cannot be written as tables"

# A link instead of a table's directory is not followed.
mkdir link elsewhere
xpumerge -o link/ plain.data 2>/dev/null
rm -r link/device
ln -s ../elsewhere link/device
xpumerge -o link/ plain.data 2>log
is "$? $(ls elsewhere)" "2 " "a link instead of a table is not followed"

# A full disk leaves existing files unchanged.
(
	ulimit -f 200
	trap '' XFSZ
	xpumerge -o plain/ many.data
) 2>log
is "$?" 2 "a table that cannot be written gives exit status 2"
like "$(cat log)" "^xpumerge: plain/: cannot be written: File too large" \
	"a table that cannot be written: the message says why"
is "$(files plain)" "$(cat before)" \
	"a table that cannot be written leaves no file, and existing files stay"
is "$(rows plain device | cksum)" "$(cat sum)" \
	"a table that cannot be written leaves existing rows unchanged"
done_testing
