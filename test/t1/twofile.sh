#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings in two files. Names contain the truth: site_i makes launch i, of kernel_i.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/merges.sh"
gen="$XPU_BUILD/gen_twofile"
NR=92732

# Prints "right N wrong N uncertain N" for the launches that have a stack.
verdict() {
	awk '
	!/\[GPU[0-9]*_Kernel\]/ { next }
	{
		count = $NF
		sub(/ [0-9]+$/, "")
		kernel = $0
		sub(/.*\[GPU[0-9]*_Kernel\]kernel_/, "", kernel)
	}
	/\[uncertain\]/ { uncertain += count; next }
	/\[no stack\]/ { none += count; next }
	{
		site = $0
		sub(/.*;site_/, "", site)
		sub(/;.*/, "", site)
		if (site == kernel)
			right += count
		else
			wrong += count
	}
	END { print "right", right + 0, "wrong", wrong + 0, "uncertain", uncertain + 0, "none",
	none + 0 }
	' "$1"
}

works() {		# works FILE: prints the number of device records in folded stacks
	awk '/\[GPU_(Kernel|Memcpy|Memset)\]/ { sum += $NF } END { print sum + 0 }' "$1"
}

# check NAME MAX_WRONG MIN_RIGHT KEY=VALUE...: the limits are shares of all launches, in 1/1000
check() {
	name=$1 max_wrong=$2 min_right=$3
	shift 3
	"$gen" cpu.txt gpu.json nr=$NR "$@" >made
	"$XPUMERGE" --cpu cpu.txt --gpu gpu.json -o out.folded \
		--unit count 2>log
	is $? 0 "$name: exit status 0" || diag "$(cat log)"
	# shellcheck disable=SC2046 # words are arguments
	set -- $(verdict out.folded)
	[ "$4" -le $((NR * max_wrong / 1000)) ] && [ "$2" -ge $((NR * min_right / 1000)) ]
	ok $? "$name: almost no match is wrong, and enough matches are right: $*"
	diag "$(grep '^by time' log)"
	is "$(works out.folded)" "$(sed 's/.*calls \([0-9]*\).*/\1/' made)" \
		"$name: each device record is in the result"
}

check "one thread" 5 990 threads=1 gap=30
check "one thread, 1 % lost" 5 980 threads=1 gap=30 lost=0.01
check "eight threads" 50 980 threads=8 gap=60
check "eight threads, 1 % lost" 50 970 threads=8 gap=60 lost=0.01
NR=20000
check "eight threads with other ids in the calls" 50 970 threads=8 gap=60 lost=0.01 tids=other
check \
	"eight threads, tid is pid: nothing distinguishes a stack's call from the thread's next call" \
	0 0 threads=8 gap=100 lost=0.01 tids=pid
is "$(verdict out.folded)" "right 0 wrong 0 uncertain $NR none 0" \
	"eight threads without thread ids: all launches are uncertain"
check "calls are lost, too" 50 930 threads=8 gap=60 lost=0.01 lost_calls=0.02
check "clocks that drift" 5 970 threads=1 gap=100 lost=0.01 drift=40 format=array
check "with the driver's calls, too" 5 980 threads=1 gap=30 lost=0.01 driver=1
check "JSON lines" 50 970 threads=8 gap=60 lost=0.01 format=lines tids=other
check "CUPTI's text" 50 970 threads=8 gap=60 lost=0.01 format=text tids=other

# ---- matches that cannot be decided

"$gen" cpu.txt gpu.json nr=5000 fixed=1 gap=100 lost=0.01 >made
xpumerge --cpu cpu.txt --gpu gpu.json -o out.folded --unit count 2>log
is "$(verdict out.folded)" "right 0 wrong 0 uncertain 5000 none 0" \
	"launches at equal distances: no match is guessed"
like "$(cat log)" 'several clock offsets fit equally well' \
	"launches at equal distances: a message says that several offsets fit"
xpumerge --cpu cpu.txt --gpu gpu.json -o out.folded --strict 2>log
is $? 1 "launches at equal distances: --strict fails"
"$gen" cpu.txt gpu.json nr=5000 fixed=1 gap=100 lost=0.01 sites=1 >made
xpumerge --cpu cpu.txt --gpu gpu.json -o out.folded --unit count 2>log
is "$(verdict out.folded)" "right 5000 wrong 0 uncertain 0 none 0" \
	"launches at equal distances with equal stacks: all launches get the right stack"


# A clock with a resolution of one second: all launches have one of two timestamps. Such timestamps
# identify no launch, however long the recording is.
awk 'BEGIN { for (i = 0; i < 30000; i++) printf "%d app 1 2 0 main;s%d;cudaLaunchKernel\n",
	1e12 + int(i / 15000) * 1e9, i }' >cpu.txt
awk 'BEGIN { printf "["; for (i = 0; i < 30000; i++) printf "%s{\"name\":\"cudaLaunchKernel\"," \
	"\"ph\":\"X\",\"ts\":%d,\"pid\":1,\"tid\":2,\"cat\":\"CUDA_Runtime\"," \
	"\"args\":{\"correlationId\":%d}}\n", i ? "," : "", 1e9 + int(i / 15000) * 1e6, i + 1
	print "]" }' >gpu.json
xpumerge --cpu cpu.txt --gpu gpu.json -o out.folded 2>log
like "$(cat log)" \
	'^by time: launches 30000 certain 0 uncertain 30000 without stack 0; stacks 30000 ' \
	"a coarse clock: no match is guessed"

# The calls' clock starts at the first call, and a hundred stacks are earlier.
"$gen" cpu.txt gpu.json nr=3000 threads=1 gap=100 burst=50 format=lines >made
perl -ne 'next if $. <= 200; /"start":(\d+)/, $base = $1 unless $base;
	s/("(?:start|end)":)(\d+)/$1 . ($2 - $base)/ge; print; END { print STDERR $base }' \
	gpu.json >late.json 2>base
perl -spe 's/^(\d+)/$1 - $base/e' -- -base="$(cat base)" cpu.txt >early.txt
xpumerge --cpu early.txt --gpu late.json -f text >out 2>log
like "$(cat log)" 'certain 2900 .* without launch 99 uncertain 1$' \
	"stacks from before the first call are not matched"
like "$(cat out)" '^first to last event: 0\.[0-9]+ s, from 0\.0' \
	"the timeline begins with the stacks from before the first call"

# ---- the contents of the files

cat >cpu.txt <<END
2001500 my app 2 42 43 3 main;run thread(int, char);<no-symbol>;cudaLaunchKernel<char>(char const*, dim3);cudaLaunchKernel
2021500 my app 2 42 43 3 main;b;cudaLaunchKernel
 2071500  12 34 42 43 0 main;c;cudaLaunchKernel
$(printf '\033[32m2151500 app 42 43 1 main;d\033[0m')
not a stack
2161500 app 42 43 1 main;cudaMemcpyAsync
END
cat >gpu.json <<'END'
[{"name":"Runtime: cudaLaunchKernel_v7000","ph":"X","ts":2001.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":1}},
{"name":"Runtime: cudaLaunchKernel_v7000","ph":"X","ts":2021.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":2}},
{"name":"Runtime: cudaLaunchKernel_ptsz_v7000","ph":"X","ts":2071.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":3}},
{"name":"Runtime: cudaLaunchKernel_v7000","ph":"X","ts":2151.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":4}},
{"name":"Runtime: cudaMemcpyAsync_v3020","ph":"X","ts":2161.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":5}},
{"name":"Runtime: cudaMemset_v3020","ph":"X","ts":2171.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":6}},
{"name":"Runtime: cudaFree_v3020","ph":"X","ts":2181.5,"dur":2,"pid":42,"tid":43,"cat":"CUDA_Runtime","args":{"correlationId":7}},
{"name":"Kernel: _Z3fooi","ph":"X","ts":2101.5,"dur":1,"cat":"GPU_Kernel","args":{"correlationId":1},"tid":"GPU0_Stream7","pid":"Device_0"},
{"name":"Kernel: say \"hi\";\u0007\ud83d\ude00","ph":"X","ts":2102.5,"dur":2,"cat":"GPU_Kernel","args":{"correlationId":2}},
{"name":"Kernel: k3","ph":"X","ts":2105.5,"dur":3.25,"cat":"GPU_Kernel","args":{"correlationId":3}},
{"name":"MemCopy: HtoD","ph":"X","ts":2205.5,"dur":4,"cat":"MemCopy","args":{"correlationId":5,"size":4096}},
{"name":"MemSet: x","ph":"X","ts":2215.5,"dur":5,"cat":"MemSet","args":{"correlationId":6}},
{"name":"Kernel: lost","ph":"X","ts":2305.5,"dur":6,"cat":"GPU_Kernel","args":{"correlationId":99}}]
END
xpumerge --cpu cpu.txt --gpu gpu.json -f folded --unit ns >out 2>log
is $? 0 "a small recording: exit status 0"
sort >expected <<'END'
12 34;main;c;cudaLaunchKernel;[GPU_Kernel]k3 3250
app;[no launch];[GPU_Kernel]lost 6000
app;[no stack];cudaMemset;[GPU_Memset] 5000
app;main;cudaMemcpyAsync;[GPU_Memcpy]HtoD 4000
app;main;d;cudaLaunchKernel;[GPU_Launch_Pending] 0
my app 2;main;b;cudaLaunchKernel;[GPU_Kernel]say "hi":?😀 2000
my app 2;main;run thread(int, char);[unknown];cudaLaunchKernel;[GPU_Kernel]foo(int) 1000
END
sed 's/^[^;]*;\(\[no launch\]\|\[no stack\]\)/app;\1/' out | sort | diff expected - >diff
ok $? \
	"a small recording with blanks and colors in names: each record is under its call path" ||
	diag "$(cat diff)"
like "$(cat log)" '1 line is not a stack' "a small recording: a line that is not a stack is counted"
like "$(cat log)" \
	'^by time: launches 5 certain 5 uncertain 0 without stack 0; stacks 5 without launch 0' \
	"a small recording: the account is right"
for format in chrome text pprof html perf; do
	xpumerge --cpu cpu.txt --gpu gpu.json -f $format >out 2>log
	is $? 0 "-f $format: exit status 0"
done
# A recording that is written from both files has the same contents.
xpumerge --cpu cpu.txt --gpu gpu.json -f folded --unit ns -o direct.folded 2>/dev/null
xpumerge --cpu cpu.txt --gpu gpu.json -o imported.data 2>log
is $? 0 "-o .data: exit status 0"
"$XPU_BUILD/gen_data" -o new.data --launches 1 --blocks 65536
version() {		# version FILE: prints a recording's version
	od -An -tu2 -j 12 -N 4 "$1"
}
is "$(version imported.data)" "$(version new.data)" "-o .data: the recording has today's version"
like "$(cat log)" '^by time: launches 5 certain 5' "-o .data: the account is right"
xpumerge imported.data -f folded --unit ns -o imported.folded 2>log
cmp imported.folded direct.folded
ok $? "-o .data: the recording gives the same stacks as the two files" || diag "$(cat log)"
xpumerge imported.data >out 2>log
is "$?$(grep -c '^end:' out)" 00 "an imported recording: the summary has no 'end:' line"
xpumerge diff imported.data imported.data -f text >out 2>log
is $? 0 "-o .data: diff accepts the recording" || diag "$(cat log)"
xpumerge imported.data -o again.data 2>log
is "$? $(cat log)" "0 " "-o .data: an imported recording can be written again"
cmp imported.data again.data
ok $? "-o .data: writing the recording again changes no byte"
# The name is larger than a block.
perl -e 'print q([{"name":"Kernel: ), "Q" x 9000000, q(","ph":"X","ts":2101.5,"dur":1,
	"cat":"GPU_Kernel","args":{"correlationId":1}}]), "\n"' >long.json
xpumerge --gpu long.json -o long.data 2>log
xpumerge long.data -f folded --unit ns -o long.folded 2>mlog
is "$? $(tr -cd Q <long.folded | wc -c)" "0 9000000" \
	"-o .data: a name longer than a block is kept" ||
	diag "$(cat log mlog)"
xpumerge --cpu cpu.txt --gpu gpu.json --table api_calls --csv 2>/dev/null | cut -d, -f2,3,9 >out
cat >expected <<'END'
total_ns,calls,name
8000,4,"cudaLaunchKernel"
2000,1,"cudaMemcpyAsync"
2000,1,"cudaMemset"
2000,1,"cudaFree"
END
diff expected out >diff
ok $? "the table of API calls is right" || diag "$(cat diff)"
xpumerge --cpu cpu.txt --gpu gpu.json -f chrome >out 2>log
is "$(grep -c '"dur":2.000,"cat":"launch"' \
	out) $(grep -c '"dur":2.000,"cat":"api","name":"cudaFree"' out)" \
	"6 1" "in a timeline API calls have their durations"
xpumerge --gpu gpu.json -f folded --unit count >out 2>log
is "$(works out)" 6 "--gpu without --cpu: each device record is shown, without stacks"

gzip -k gpu.json
gzip -c cpu.txt >cpu.gz
xpumerge --cpu cpu.gz --gpu gpu.json.gz -f folded --unit ns -o packed.folded 2>log
cmp packed.folded direct.folded
ok $? "compressed files give the same result" || diag "$(cat log)"

# The short options and file names that are used in the scripts that define these formats.
xpumerge -c cpu.txt -g gpu.json -f folded --unit ns -o short.folded 2>log
cmp short.folded direct.folded
ok $? "-c and -g mean --cpu and --gpu" || diag "$(cat log)"
mkdir results
cp gpu.json results/gpu_results.json
(cd results && xpumerge -c ../cpu.txt -f folded --unit ns -o ../short.folded 2>../log)
cmp short.folded direct.folded
ok $? "-c without -g reads gpu_results.json" || diag "$(cat log)"
like "$(cat log)" '^xpumerge: reads ../cpu.txt and gpu_results.json' \
	"-c without -g: a message names both files"
cp cpu.txt results/cpu_results.txt
(cd results && xpumerge -f folded --unit ns -o ../short.folded 2>../log)
cmp short.folded direct.folded
ok $? "without options, gpu_results.json and cpu_results.txt are read" || diag "$(cat log)"
"$XPU_BUILD/gen_data" -o results/xpu.data --launches 3
(cd results && xpumerge -f folded >/dev/null 2>../log)
unlike "$(cat log)" results.json "if xpu.data exists, gpu_results.json is not read"

# ---- records that are read only without stacks

cat >torch.json <<'END'
{"deviceProperties": [{"id": 0, "name": "Simulated GPU"}], "traceEvents": [
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":43,"ts":2021.5,"dur":2,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2102,"dur":2,"args":{"device":0,"context":1,"stream":7,"correlation":2}}]}
END
echo '2021500 app 42 43 3 main;b;cudaLaunchKernel' >one.txt
xpumerge --cpu one.txt --gpu torch.json --strict -f text >out 2>log
is $? 0 "a trace without other records: --strict is content" || diag "$(cat log)"
like "$(cat out)" 'Simulated GPU' "two files: the GPU has its name"
sed 's/^{"ph":"X","cat":"kernel"/{"ph":"X","cat":"hpu_op","name":"x","pid":0,"tid":0,"ts":2000,"dur":9},&/' \
	torch.json >other.json
xpumerge --cpu one.txt --gpu other.json --strict -f text >out 2>log
is $? 1 "two files: --strict fails if events of some kinds are not read"
like "$(cat log)" 'other.json: 1 event of kinds that are not read, such as hpu_op' \
	"two files: a message counts events of kinds that are not read"
sed 's/^{"ph":"X","cat":"kernel"/{"ph":"X","cat":"cpu_op","name":"x","pid":42,"tid":43,"ts":2000,"dur":90},{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":2200,"dur":9,"args":{"stream":7,"context":1,"correlation":2}},&/' \
	torch.json >more.json
xpumerge --cpu one.txt --gpu more.json --strict -f text >out 2>log
is $? 1 "two files: --strict fails if operators and waits are not read"
like "$(cat log)" '1 operator, function or annotation is read only without --cpu' \
	"two files: a message counts operators"
like "$(cat log)" '1 record of a wait is read only without --cpu' \
	"two files: a message counts records of waits"

# ---- invalid files

fails "no such file" 'nothere: cannot be read' --cpu cpu.txt --gpu nothere
fails "a directory" 'cannot be read' --cpu . --gpu gpu.json
: >empty
fails "no stacks" 'empty: cannot find any stacks' --cpu empty --gpu gpu.json
fails "no events" 'empty: cannot find GPU events' --cpu cpu.txt --gpu empty
fails "no JSON" 'cannot find GPU events' --cpu cpu.txt --gpu "$XPUMERGE"
head -c 200 gpu.json.gz >cut.gz
fails "cut off gzip" 'cut.gz: cannot be read: damaged or cut off' --cpu cpu.txt --gpu cut.gz
fails "stacks alone" 'expected perf.data or the output of perf script' --cpu cpu.txt
fails "a bad tolerance" 'number of milliseconds' --cpu cpu.txt --gpu gpu.json -t ms
fails "a recording, too" 'cannot be combined' --gpu gpu.json x.data
head -c 1000 gpu.json >cut.json
xpumerge --cpu cpu.txt --gpu cut.json -f folded >out 2>log
is $? 2 "cut JSON: exit status 2"
like "$(cat log)" 'cut.json: damaged at offset .* used up to there' \
	"cut JSON: the message says that the file is damaged"
is "$(grep -c GPU_Launch_Pending out)" 6 "cut JSON: the events before the cut are used"
done_testing
