#!/bin/sh
# SPDX-License-Identifier: MIT
# Command lines of users who know other tools, or who mistype. One line names the right option, and
# the exit status is the status for bad usage. No privileges are needed.
. "$XPU_SRC/test/lib/tap.sh"
gen="$XPU_BUILD/gen_data"

refuse() {		# refuse STATUS LINE COMMAND...
	status=$1 line=$2
	shift 2
	"$@" >out 2>log </dev/null
	is "$? $(cat out log)" "$status ${1##*/}: $line" "$*"
}

# shellcheck disable=SC2086 # several arguments on purpose
load() { refuse 125 "$1" xpuload $2; }		# LINE ARGUMENTS
# shellcheck disable=SC2086
merge() { refuse 2 "$1" xpumerge $2; }

"$gen" -o xpu.data --launches 400

load "there is no option --gpuonly, perhaps --gpu-only: see --help" "--gpuonly true"
load "there is no option --frequency, perhaps --freq: see --help" "--frequency=99 true"
load "there is no option --all-cpus, perhaps --all: see --help" "--all-cpus"
load "there is no option --zzz: see --help" "--zzz true"
load "there is no option -y: see --help" "--strict -qy true"
for level in 23 -1 x 1x ""; do
	load "-z $level: expected a level of 0 to 22" "--compression-level=$level true"
done
load "--off can be --off-cpu or --off-cpu-min" "--off true"
load "--strict takes no argument: see --help" "--strict=yes true"
load "-o: expected an argument: see --help" "-qo"
load "--output: expected an argument: see --help" "--output"
load "there is no option --delay: xpumerge --from leaves out the beginning" \
	"record --delay=500 true"
load "there is no option -D: xpumerge --from leaves out the beginning" "record -qD 500 true"
load "nothing to record: expected a COMMAND, -p PID or -a: see --help" "record -g"
load "sleep: -p and -a attach and take no COMMAND; --duration SECONDS, Ctrl-C or the end of PID ends them" \
	"record -ag -- sleep 1"
load "--duration is for -p and -a; a COMMAND is recorded until it ends: see timeout(1)" \
	"--duration 1 true"
for both in "-a -p 1" "-p 1 -a"; do
	load "-p attaches to some processes, -a to all: they cannot be combined" "$both"
done
for pids in "1," ",1" 1,a 0 -1 1,,2 99999999999; do
	load "-p $pids: expected a pid, or several, such as 12,34" "--pid=$pids"
done
load "--no-children is for -p" "-a --no-children"
for pick in "--comm x true" "--cgroup x -p 1" "--container x -p 1"; do
	load "--cgroup, --container and --comm pick among all processes: they need -a" "$pick"
done
load "--cgroup and --container both name a cgroup: they cannot be combined" "-a --cgroup x --container y"
load "--comm: expected a name" "-a --comm="
load "-o -: standard output is the target's own: name a file" "-o - true"
load "-o x.data.gz: no output has the suffix .gz, perhaps .data; a recording has .data, and --help lists all suffixes" \
	"-o x.data.gz true"
load "-o x.pb: no output has the suffix .pb, perhaps .pb.gz; a recording has .data, and --help lists all suffixes" \
	"-o x.pb true"
load "-o x.pngg: no output has the suffix .pngg, pictures are .html and, drawn by flamegraph.pl, .svg; a recording has .data, and --help lists all suffixes" \
	"-o x.pngg true"
load "-o x.data and -o y.data both name the recording" "-o x.data -o z.html -o y.data true"
load "--python off and --python only cannot be combined: give one of them" "--python off --python only true"
load "--max-stack 3 and --max-stack 4 cannot be combined: give one of them" "--max-stack 3 --max-stack 4 true"
merge "there is no option --every: see --help" "split --every 300ms"
merge "there is no option --evry: see --help" "top --evry 300ms"
merge "--csv and --json cannot be combined: give one of them" "--csv --json"
merge "--jobs 9999: expected a number from 1 to 1024" "--jobs 9999"
merge "a recording without a name: is a variable empty?" "--input="
merge "-o: expected the name of a file" "--output="
merge "--unit ns and --unit us cannot be combined: give one of them" "--unit ns --unit us"
load "-o z.html: twice" "-o z.html -o z.html true"

# An option that would silently replace an earlier option, or that has no effect because of another
# option.
load "--api and --api=all cannot be combined: give one of them" "--api --api=all true"
load "--call-graph fp and --call-graph dwarf cannot be combined: give one of them" \
	"--call-graph fp --call-graph dwarf true"
load "--capture launch:1 and --capture nvtx:x cannot be combined: give one of them" \
	"--capture launch:1 --capture nvtx:x true"
load "--capture after:1 and --capture for:1 cannot be combined: give one of them" \
	"--capture after:1 --capture for:1 true"
load "--freq 99 and --freq 199 cannot be combined: give one of them" "-F 99 -F 199 true"
load "--duration 1 and --duration 2 cannot be combined: give one of them" "-a --duration 1 --duration 2"
load "--transport bpf and --transport shm cannot be combined: give one of them" \
	"--transport bpf --transport shm true"
for with in gpu-only cpu-only freq=99 off-cpu off-cpu-min=1 api stalls probe=launch; do
	load "--memory-only records memory and nothing else: it cannot be combined with --${with%=*}" \
		"--memory-only --$with true"
	load "--memory-only records memory and nothing else: it cannot be combined with --${with%=*}" \
		"--$with --memory-only true"
done
for with in api stalls gpu-metrics memory nvtx=off probe=path cupti=share; do
	load "--cpu-only records nothing of CUDA: it cannot be combined with --${with%%=*}" \
		"--cpu-only --$with true"
done
load "--gpu-only takes no CPU samples: it cannot be combined with --freq" "--gpu-only -F 99 true"
load "--gpu-only records no time off the CPU: it cannot be combined with --off-cpu-min" \
	"--gpu-only --off-cpu-min 5 true"
load "--quiet prints less: it cannot be combined with --verbose" "-q -v true"
load "--control makes a recording of each window: it cannot be combined with --every" \
	"--control fd:0 --every 1 true"
load "--control makes a recording of each window: it cannot be combined with --push" \
	"--control fd:0 --push parca+http://x:1 true"
load "--python on needs --call-graph dwarf: with fp, use --python only or off" \
	"--call-graph fp --python on true"
load "--check records nothing: it cannot be combined with --all" "--check -a"
load "true: --check records nothing: it takes no COMMAND" "--check true"
for with in output=x.html keep=2 control=fd:0 capture=after:1 api stalls gpu-metrics off-cpu \
	memory; do
	load "top shows device work and CPU samples, and makes no file: it cannot be combined with --${with%=*}" \
		"top --$with"
done
load "--capture opens and closes the recording itself: it cannot be combined with --every and --push" \
	"--capture launch:1 --push parca+http://x:1 true"
load "-o x.html: --every and --push make recordings, each of which xpumerge can merge: name them .data" \
	"-o x.html --push parca+http://x:1 true"
load "--capture needs a COMMAND to start; with -p and -a, XPUSHIM_CAPTURE in the program's environment decides" \
	"-a --capture launch:1"
load "--duration cannot be combined with --control or --capture after:S: use for:S" \
	"-a --capture after:1 --duration 1"
merge "--format folded and --format html cannot be combined: give one of them" "-f folded -f html"
merge "--by tid and --by shape cannot be combined: give one of them" "-f folded --by tid --by shape"
merge "--memory live and --memory peak cannot be combined: give one of them" "--memory live --memory peak"
merge "--from 1 and --from 2 cannot be combined: give one of them" "--from 1 --from 2"
merge "--sort count and --sort avg cannot be combined: give one of them" "--sort count --sort avg"
merge "--by shape tells kernels apart: it cannot be combined with --cpu-only" \
	"--by shape --cpu-only"
merge "--memory shows memory alone: it cannot be combined with --table threads" \
	"--memory peak --table threads"
merge "--sort avg: no table of memory has such a column, and --memory shows no other" \
	"--memory live --sort avg --csv"
merge "--json cannot be combined with -f csv" "-f csv --json"
merge "--json cannot be combined with -o a.csv" "-o a.csv --json"
merge "--csv is for -f text" "-o a.html --csv"
merge "--table is for -f text" "-o a.json --table kernels"
merge "--width is for -f text" "-f folded --width 100"
is "$(ls a.* 2>/dev/null)" "" "refused commands write no file"
load "stat: xpuload -o FILE.txt COMMAND counts launches, copies and waits, and prints how long they took; run a program with this name as xpuload -- stat" \
	"stat ls"
load "annotate: record with --stalls, then xpumerge --table stalls has the lines of kernels, and xpumerge --srcline the lines of call paths; run a program with this name as xpuload -- annotate" \
	annotate
is "$(xpuload report --table kernels --csv 2>log)" "$(xpumerge --table kernels --csv 2>log)" \
	"xpuload report runs xpumerge"
is "$(xpuload script -i xpu.data 2>log)" "$(xpumerge -f perf 2>log)" \
	"xpuload script runs xpumerge -f perf"

for perf in "-F overhead" "-g caller" "-s comm"; do
	# shellcheck disable=SC2086 # two words
	xpuload report $perf >out 2>log
	is "$? $(wc -l <log) $(grep -c "^xpuload: report ${perf% *}: " log)" "125 1 1" \
		"xpuload report $perf: prints one line" ||
		diag "$(cat log)"
done
for perf in --stdio --tui -n --children --no-children "--percent-limit 1" \
	--header "--call-graph caller" -D; do
	# shellcheck disable=SC2086 # two words
	xpuload report $perf >out 2>log
	is "$? $(wc -l <log) $(grep -c "there is no option ${perf% *}: [^s]" log)" "2 1 1" \
		"xpuload report $perf: prints one line of advice" || diag "$(cat log)"
done
for perf in help list trace mem sched evlist "top -d 1" "top --stdio" "top --sort x"; do
	# shellcheck disable=SC2086 # two words
	xpuload $perf >out 2>log
	is "$? $(wc -l <log) $(grep -c ': see --help' log)" "125 1 0" \
		"xpuload $perf: prints one line of advice" || diag "$(cat log)"
done

merge "there is no option --unti, perhaps --unit: see --help" "--unti ns"
merge "there is no option --report: --table NAME picks a table" "--report x"
merge "--kernel: expected an argument: see --help" "--kernel"
merge "there is no option -z: see --help" "xpu.data -z"
merge "--format json: expected $(sed -n 's/^\tFORMAT([^,]*, "\([^"]*\)".*/\1/p' \
	"$XPU_SRC/lib/formats.h" |
	paste -sd, | sed 's/,\([^,]*\)$/ or \1/; s/,/, /g')" "-f json"
merge "--table x: expected kernels, memory_time, memory_size, api_calls, launch_sites, \
python_lines, cpu_functions, nvtx_ranges, processes, devices, streams, threads, idle, stalls, \
gpu_metrics, kernel_metrics, path_metrics, kernel_roof, path_roof, line_roof, \
kernel_counters, path_counters, memory_devices, memory_moments, memory_holders, memory_leaks, \
memory_churn, memory_failures or memory_migrations" \
	"--table x"
merge "-f pprof -o a.svg: the name's suffix stands for a picture: leave out -f, or take the suffix .pb.gz" \
	"-f pprof -o a.svg"
merge "xpu.data.gz: no format has this suffix, perhaps .data: give one with -f (--help lists them)" \
	"-o xpu.data.gz"

# ---- formats: the manual and the help have the same formats, and the recorder knows their suffixes

xpumerge --help >help
sed -n '/--format FORMAT/,/--table NAME/p' help | sed '$d' | cut -c26- >formats
sed -E 's/^([a-z-]+) .*/\1/' formats >names
sed -E 's/^[a-z-]+ +([A-Z.]?[^ ]*) .*/\1/' formats >suffixes
is "$(wc -l <names)" "$(wc -l <suffixes)" "each format has a suffix"
[ "$(wc -l <names)" -ge 9 ]
ok $? "the help lists formats"
sed -n '/^[.]It .*Fl Fl format/,/^[.]It .*Fl Fl table/p' "$XPU_BUILD/doc/xpumerge.1" >listed
is "$(while read -r name; do grep -qE "^[.]It Cm $name( |$)" listed || echo "$name"; done <names)" \
	"" "the manual lists each format"
is "$(while read -r suffix; do grep -qF "$suffix" "$XPU_BUILD/doc/xpumerge.1" ||
	echo "$suffix"; done <suffixes)" "" "the manual lists each suffix"

# The manual also lists a format whose name has two words.
mkdir -p tree/lib tree/merge/write/formats
(cd "$XPU_SRC" && cp -r scripts "$OLDPWD/tree/" &&
	cp merge/write/formats/*.c "$OLDPWD/tree/merge/write/formats/")
cp "$XPU_SRC/merge/write/formats/csv_format.c" \
	tree/merge/write/formats/two_words_format.c
sed 's/^\(\tFORMAT(\)csv.*/\1two_words, "two-words", ".two")/' \
	"$XPU_SRC/lib/formats.h" >tree/lib/formats.h
(cd tree && sh scripts/manual.sh "$XPU_SRC/doc/xpumerge.1.in") >two.1 2>log
is "$? $(grep -c '^[.]It Cm two-words' two.1) $(cat log)" "0 1 " \
	"a format whose name has two words is in the manual"
sed -i 's/two_words/TWO/' tree/lib/formats.h
(cd tree && sh scripts/manual.sh "$XPU_SRC/doc/xpumerge.1.in") >two.1 2>log
is "$? $(cat log)" "1 manual.sh: cannot read all formats of lib/formats.h" \
	"a format that manual.sh cannot read is an error"

xpuload --help >help
is "$(while read -r suffix; do grep -qF "$suffix" help || echo "$suffix"; done <suffixes)" "" \
	"xpuload --help lists each suffix"

# The ten options that most users need come first, and each option is in a group.
for program in xpuload xpumerge; do
	"$program" --help >help
	is "$(sed -n '/^Common options:$/,/^$/p' help | grep -cE '^  (-., |    )--[a-z]')" \
		"$([ $program = xpuload ] && echo 10 || echo 9)" "$program --help: common options"
	is "$(sed -n '/^Common/,$p' help | grep -cE '^(What|Where|Output|Expert)')" 4 \
		"$program --help: four groups follow the common options"
	is "$(awk 'length > 92' help)" "" "$program --help: lines are short"
done

# ---- tables for programs

xpumerge --csv >expected 2>log
for args in "-f csv" "-o a.csv" "--csv -o a.txt" "--csv -o a.csv"; do
	rm -f a.*
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge $args >out 2>log
	is "$? $(cat a.* 2>/dev/null out)" "0 $(cat expected)" "xpumerge $args prints the tables"
done
xpumerge -V >out 2>log
like "$(cat out)" '^xpumerge [0-9]+\.' "-V prints the version"
done_testing
