#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Mistakes that people make. For each, one line names the mistake, its reason and what to do; the
# exit status is a failure, and nothing is lost.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf python3
use_sim
app=$XPU_BUILD/workload/exact
cp "$app" app

# answer STATUS REGEX NAME COMMAND...: checks the command's status, and that its only message
# matches
answer() {
	status=$1 regex=$2 name=$3
	shift 3
	timeout -s INT 60 "$@" >out 2>log </dev/null
	is "$? $(wc -l <log) $(grep -cE -e "$regex" log)" "$status 1 1" "$name" ||
		diag "$* says: $(cat log)"
}

# say STATUS REGEX NAME COMMAND...: checks the command's status, and that one of its messages
# matches. The command runs, and prints other messages, too.
say() {
	status=$1 regex=$2 name=$3
	shift 3
	timeout -s INT 60 "$@" >out 2>log </dev/null
	is "$? $(grep -cE -e "$regex" log)" "$status 1" "$name" || diag "$* says: $(cat log out)"
}

load=$XPULOAD merge=$XPUMERGE
for name in a b; do
	nr=500
	[ $name = a ] || nr=900
	xpuload -q -o $name.data ./app -t 2 -n $nr >/dev/null 2>&1
done
printf '#!/usr/bin/env python3\n' >train.py
xpumerge -o train.html a.data 2>/dev/null
printf 'SQLite format 3\0' >r.sqlite
echo report >r.nsys-rep

# ---- 1 to 19
answer 1 "matches --kernel nope: the largest kernels are kernel_[0-9]+, kernel_[0-9]+ and kernel_" \
	"1: --kernel that matches nothing names kernels" "$merge" --kernel nope a.data
answer 1 "ranks: no operations of NCCL in these recordings: xpuload records them" \
	"2: ranks without NCCL says what records it" "$merge" ranks a.data b.data
answer 125 "x.nsys-rep: no output has the suffix .nsys-rep, only its own tool writes it;" \
	"3: -o x.nsys-rep is refused" "$load" -o x.nsys-rep ./app
answer 125 "one -o names one file: expected -o x.data -o y.data" \
	"4: two names in one -o are refused" "$load" -o x.data,y.data ./app
answer 2 "-f folded -o x.html: .* stands for html: leave out -f, or take the suffix .folded" \
	"5: a suffix of another format is refused" "$merge" -o x.html -f folded a.data
answer 127 "train.py: .*it is no program: run xpuload python3 train.py" \
	"6: a script's interpreter is named" "$load" train.py
answer 125 "no option --gpus: .*xpumerge --device LIST" \
	"7: --gpus: xpumerge's option is named" "$load" --gpus 0 ./app
answer 2 "rank .*: perhaps xpumerge ranks$" "8: xpumerge rank: perhaps ranks" \
	"$merge" rank a.data
answer 2 "report .*: xpumerge FILE prints the summary$" "8: xpumerge report: the command is named" \
	"$merge" report a.data
answer 2 "help .*: xpumerge --help" "8: xpumerge help: --help is named" "$merge" help
answer 2 "--table kernel: perhaps kernels; expected kernels, " "9: --table kernel" \
	"$merge" --table kernel a.data
answer 2 "--sort gpu_wait: no table has such a column, perhaps gpu_wait_ns;" \
	"10: --sort: the nearest column is named" "$merge" --sort gpu_wait a.data
answer 2 "table threads has no such column; expected life_ns, .*gpu_wait_ns" \
	"10: --sort with --table: the columns are listed" \
	"$merge" --sort avg_ns --table threads a.data
answer 2 "train.html is not a recording .*it is a page: open it in a browser" \
	"11: a page as an input" "$merge" train.html
answer 2 "this is not a recording of xpuload: xpuload top makes one" "12: xpumerge top" \
	"$merge" top
answer 127 "cannot run profile: .*: leave it out: xpuload COMMAND records" "13: xpuload profile" \
	"$load" profile ./app
if command -v flamegraph.pl inferno-flamegraph >/dev/null ||
	[ -e /usr/share/perl5/Devel/NYTProf/flamegraph.pl ]; then
	"$merge" --gpu-only -o x.svg a.data 2>log
	is "$? $(grep -c 'kernel_00' x.svg | sed 's/[1-9][0-9]*/many/')" "0 many" \
		"14: xpumerge -o x.svg draws a picture" || diag "$(cat log)"
else
	skip "14: xpumerge -o x.svg draws a picture" "neither flamegraph.pl nor inferno-flamegraph"
fi
answer 2 "-f html -o x.svg: .* stands for a picture" "14: -f html with a picture's name" \
	"$merge" -f html -o x.svg a.data
say 1 "B made 1.8 times as many launches as A: --normalize launches compares per launch" \
	"15: diff of unequal runs says so" "$merge" diff a.data b.data \
	--normalize none --fail-over 5%
say 0 "events? of memory" "16: --memory -o oom.html makes a page" \
	"$load" --memory -o oom.html ./app -n 200
like "$(cat oom.html)" '"memory"' "16: the page has data about memory"
answer 125 "x.html: --every and --push make recordings, .*name them .data" \
	"17: --every with a page's name: the message says what is written" \
	"$load" --every 5 -o x.html ./app
XPU_SIM_PC=unsupported "$load" --stalls -q -o st.data ./app -n 200 >/dev/null 2>load.log
say 1 "stalls: no rows in the recording; xpuload --stalls records them" \
	"18: stalls without a sample" "$merge" --table stalls st.data
like "$(cat load.log)" "stall|PC sampl" "18: xpuload says why there is no sample"
{
	for i in $(seq 263); do echo "# line $i of a header"; done
	printf 'app 100/101 [000] 5.000100: 250000 cpu-clock:\n\t    55d0 main+0x10 (/bin/app)\n\n'
} >p.txt
"$merge" --cpu p.txt >out 2>log
is "$? $(grep -c 'main' out | sed 's/[1-9][0-9]*/many/')" "0 many" \
	"19: perf script with 263 lines of comments is read" || diag "$(cat log)"

# ---- 20 to 30: programs
"$load" >out 2>log
is "$? $(wc -l <log) $(grep -cE 'xpuload:  +xpu(load|merge) ' log)" "125 4 3" \
	"20: xpuload without arguments prints its usage and three examples"
answer 127 "cannot run ./nothere: No such file" "21: a missing program" "$load" ./nothere
: >notexec
answer 126 "cannot run ./notexec: Permission denied: chmod \\+x ./notexec" \
	"22: a file that may not be executed" "$load" ./notexec
answer 125 "pid 999999: No such process" "23: no such process" "$load" -p 999999
if setpriv --reuid 65534 --clear-groups "$load" --version >/dev/null 2>&1; then
	answer 125 "pid 1 may not be recorded: it belongs to user 0, .*: run xpuload as that user" \
		"24: another user's process" setpriv --reuid 65534 --clear-groups "$load" -p 1
else
	skip "24: another user's process" "another user cannot run xpuload of this build"
fi
say 0 "no process has the shim yet: programs that start with LD_PRELOAD=" \
	"25: a process without CUDA" "$load" -p $$ --duration 0.2 -o p.data
echo 'int main(void) { return 0; }' >s.c
if "${CC:-cc}" -static -o static_app s.c 2>/dev/null; then
	say 0 "./static_app: it is linked statically, so the shim cannot be loaded: link" \
		"26: a static program" "$load" -o s.data ./static_app
else
	skip "26: a static program" "no static C library"
fi
mkdir bin
for name in docker sudo; do
	printf '#!/bin/sh\n' >bin/$name
	chmod +x bin/$name
done
say 0 "docker: a daemon starts the program, without the shim: run xpuload inside" \
	"27: docker run" env PATH="$PWD/bin:$PATH" "$load" -o s.data docker run image
say 0 "sudo: it clears LD_PRELOAD, .*: sudo xpuload COMMAND" "28: xpuload sudo" \
	env PATH="$PWD/bin:$PATH" "$load" -o s.data sudo ./app
answer 127 "cannot run nopython3: .*sudo env PATH=.* xpuload nopython3" \
	"29: sudo has another PATH" env SUDO_USER=joe "$load" nopython3 train.py
mkdir runtime
cp "$XPU_BUILD/sim/libcudart.so.13" runtime
say 1 "the target made no CUDA or OpenCL launch" "30: no driver: the program's own status" \
	env LD_LIBRARY_PATH="$PWD/runtime" "$load" -o s.data ./app

# ---- 31 to 36: files
mkdir empty
answer 2 "xpu.data cannot be opened: .*: xpuload makes one" "31: no recording" \
	sh -c "cd empty && exec $merge"
: >empty.data
echo text >text.txt
printf 'PERFILE2' >perf.data
answer 2 "empty.data is empty: nothing was recorded" "32: an empty file" "$merge" empty.data
answer 2 "empty is a directory: name the recordings in it" "32: a directory" "$merge" empty
answer 2 "text.txt is not a recording" "32: a text file" "$merge" text.txt
answer 2 "r.nsys-rep is not .*: nsys export --type sqlite makes a file of it that --nsys reads" \
	"32: a report of Nsight Systems" "$merge" r.nsys-rep
answer 2 "perf.data is not .*: --cpu reads what perf recorded" "32: perf.data" "$merge" perf.data
head -c 3000 a.data >cut.data
say 1 "cut.data: cut at offset [0-9]+: [0-9]+ bytes ignored" "33: a recording that is cut" \
	"$merge" cut.data
{ head -c 12 a.data; printf 'c\000'; tail -c +15 a.data; } >newer.data
answer 2 "newer.data has format version 99\\..*: use a newer xpumerge" "34: a newer recording" \
	"$merge" newer.data
for out in x.html x.data; do
	answer 125 "cannot write /no/such/$out: .*: its directory is missing" \
		"35: xpuload -o into no directory, $out" "$load" -o /no/such/$out ./app
done
answer 2 "/no/such/x.html: cannot be written: .*: its directory is missing" \
	"35: xpumerge -o into no directory" "$merge" -o /no/such/x.html a.data
mkdir full
if mount -t tmpfs -o size=200k tmpfs full 2>/dev/null; then
	say 125 "cannot write full/x.data: No space left on device: the program and the recordi" \
		"36: a full disk" "$load" -o full/x.data ./app -t 4 -n 100000
	like "$(cat log)" "lost: [0-9]+ bytes not written" "36: the lost bytes are counted"
	say 1 "^launches [1-9]" "36: what was written is readable" "$merge" full/x.data
	umount full
else
	skip "36: a full disk" "cannot mount a tmpfs"
fi

# ---- 37 to 51: options
answer 125 "-F 100000000: the kernel allows [0-9]+: sysctl kernel.perf_event_max_sample_rate=" \
	"37: more samples than the kernel allows" "$load" -F 100000000 ./app
answer 125 "--duration 1h: expected a number of seconds" "38: --duration 1h" \
	"$load" --duration 1h -p 1
answer 125 "--every 0: expected a number of seconds, at least" "38: --every 0" \
	"$load" --every 0 ./app
answer 125 "--keep -1: expected a number from 1" "38: --keep -1" "$load" --keep -1 ./app
answer 2 "--to: expected a time after --from" "38: --to before --from" \
	"$merge" --from 2 --to 1 a.data
answer 125 "--capture nvtx:\\[: .*[Rr]egular expression|--capture nvtx:\\[: .*\\[" \
	"39: an invalid expression" "$load" --capture 'nvtx:[' ./app
say 0 "--capture nvtx:train: no launch was made while a window was open: .*lists the ranges" \
	"40: a window that never opens" "$load" --capture nvtx:train -o c.data ./app -n 100
say 0 "another program" "41: another program samples the GPU" \
	env XPU_SIM_PM=busy "$load" --gpu-metrics -o m.data ./app -n 100
answer 125 "a GPU cannot take PC samples and sample its counters at once: --stalls" \
	"42: --stalls with counters" "$load" --stalls --gpu-metrics=sm__cycles ./app
answer 125 "--cpu-only records nothing of CUDA: .*--memory" "43: --cpu-only --memory" \
	"$load" --cpu-only --memory ./app
answer 125 "--gpu-only records no time off the CPU: .*--off-cpu" "43: --gpu-only --off-cpu" \
	"$load" --gpu-only --off-cpu ./app
answer 125 "--gpu-only takes no CPU samples: .*--cpu-only" "43: --gpu-only --cpu-only" \
	"$load" --gpu-only --cpu-only ./app
answer 125 "--freq 99 and --freq 100 cannot be combined" "44: an option twice" \
	"$load" -F 99 -F 100 ./app
answer 2 "--by rnak: perhaps rank; expected" "45: --by rnak: perhaps rank" \
	"$merge" --by rnak -o x.html a.data
for list in 0- 0,,4 a; do
	answer 2 "--rank: '.*': expected a list of numbers, such as" "46: --rank $list" \
		"$merge" --rank $list a.data
done
answer 1 "matches --device 7: the GPUs of the recording are 0$" "47: a GPU that does not exist" \
	"$merge" --device 7 a.data
answer 2 "--memory leak: perhaps leaked; expected" "48: --memory leak: perhaps leaked" \
	"$merge" --memory leak -o x.html a.data
answer 2 "--at: 'yesterday': expected a time, such as" "49: --at yesterday" \
	"$merge" --memory live --at yesterday -o x.html a.data
answer 2 "--symfs /nothere: expected a directory that exists" "50: --symfs without a directory" \
	"$merge" --symfs /nothere a.data
answer 125 "--push localhost:4040: expected pyroscope\\+http://" "51: --push without a scheme" \
	"$load" --push localhost:4040 ./app

# ---- 52 to 60
"$load" --every 0.2 --push pyroscope+http://127.0.0.1:9 -o 'push-%n.data' ./app -n 2000 >out 2>log
like "$(cat log)" "127.0.0.1:9|[Cc]onnection refused|profiles?" "52: a dead receiver is reported"
like "$(xpumerge push-[0-9]*.data 2>&1)" "^launches 2000 matched 2000 unmatched 0 lost 0$" \
	"52: with a dead receiver, all launches are recorded"
: >afile
answer 125 "--control: .*afile is not a FIFO: make one with mkfifo" "53: --control of a file" \
	"$load" --control fifo:"$PWD"/afile ./app
say 0 "attached to 0 processes, .*: waits for programs that are started with LD_PRELOAD=" \
	"54: xpuload -a without a program" "$load" -a --duration 0.2 -o all.data
answer 125 "-o -: standard output is the target's own: name a file" "55: -o -" "$load" -o - ./app
answer 2 "adds names to one recording: .*; -o x.html or -o x.txt makes one result" \
	"56: a recording of recordings" "$merge" a.data b.data -o x.data
answer 2 "r.nsys-rep: cannot be read as an SQLite file \\(nsys export --type sqlite makes one\\)" \
	"57: --nsys of a report" "$merge" --nsys r.nsys-rep
printf '{"a":[1,2' | gzip >trace.json.gz
answer 2 "trace.json.gz: cannot find GPU events: ends in the middle at offset 9" \
	"58: a file that is not a trace" "$merge" --gpu trace.json.gz
setsid env --default-signal=INT "$load" -o int.data ./app -t 2 -n 100000000 >out 2>log &
pid=$!
for _ in $(seq 200); do
	[ -e int.data ] && [ "$(wc -c <int.data)" -gt 20000 ] && break
	sleep 0.05
done
for _ in 1 2 3; do
	kill -INT -$pid 2>/dev/null
	sleep 0.1
done
wait $pid
is "$? $(xpumerge --table launch_sites int.data 2>/dev/null | grep -c kernel_ |
	sed 's/[1-9].*/many/')" "130 many" "59: Ctrl-C three times: the recording is closed" ||
	diag "$(cat log)"
COLUMNS=20 TERM=dumb LC_ALL=C "$merge" a.data >out 2>log
is "$? $(LC_ALL=C tr -d '\n\t -~' <out | wc -c)" "0 0" \
	"60: a narrow terminal without a locale gets plain text"
done_testing
