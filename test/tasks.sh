#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tasks.sh: as root, by hand or in a fresh Debian, sh test/debian.sh bookworm sh test/tasks.sh
#
# Performs the tasks of new users, with the commands of README.md, on the simulated device. Checks
# each answer and prints how long each task took. The tasks are: set up and build, get GPU time by
# line of Python, find the thread that waits for the GPU, attach to a running server for ten seconds
# and send one file, compare two builds, and find the kernel that got slower.
set -u
cd "$(dirname "$0")/.." || exit 1
src=$(pwd) O=${O:-$PWD/build} failed=0
export O
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
started=$(date +%s%N)

check() {		# check STATUS WHAT: reports the result, and prints "log" if it failed
	[ "$1" = 0 ] && { echo "  ok: $2"; return; }
	failed=1
	echo "  NOT OK: $2"
	sed 's/^/    /' log
}

is() {			# is GOT EXPECTED WHAT
	[ "$1" = "$2" ] || echo "got: $1, expected: $2" >>log
	[ "$1" = "$2" ]
	check $? "$3"
}

task() {		# task WHAT: prints WHAT and the time since the last task ended
	now=$(date +%s%N)
	echo "$(((now - started) / 1000000000)).$(((now - started) / 100000000 % 10)) s: $1"
	started=$now
}

# ---- set up, build

make deps || exit 1
if ! make -j"$(nproc)" all demo-build "$O/workload/py_launch.so" >"$dir/make.log"; then
	tail "$dir/make.log"
	exit 1
fi
PATH=$O:$PATH LD_LIBRARY_PATH=$O/sim
export PATH LD_LIBRARY_PATH
cd "$dir" || exit 1
: >log
xpuload --check >log 2>&1
check $? "xpuload --check"
task "set up and build"

# ---- GPU time by line of Python; each kernel takes 4 us

cat >train.py <<'END'
import ctypes, sys, threading, time
gpu, libc = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None)
gpu.py_launch_init()
libc.pthread_setname_np.argtypes = ctypes.c_ulong, ctypes.c_char_p

class Attention:
    def forward(self):
        for _ in range(30): gpu.py_launch(1)	# qkv
        for _ in range(50): gpu.py_launch(2)	# softmax

class Block:
    def __init__(self): self.attention = Attention()
    def forward(self):
        self.attention.forward()		# attention
        for _ in range(20): gpu.py_launch(1)	# mlp

def train():
    libc.pthread_setname_np(threading.get_ident(), b"trainer")
    blocks, waited = [Block() for _ in range(4)], 0
    for step in range(20):
        for block in blocks: block.forward()	# blocks
        gpu.py_launch(3)			# optimizer
        before = time.perf_counter_ns()
        gpu.py_launch_done()
        waited += time.perf_counter_ns() - before
    print(waited)

def load():
    libc.pthread_setname_np(threading.get_ident(), b"loader")
    for batch in range(50):
        gpu.py_launch(4)			# batch
        time.sleep(0.002)

threads = [threading.Thread(target=f) for f in (train, load)]
for t in threads: t.start()
for t in threads: t.join()
gpu.py_launch_done()
END
export PYTHONDONTWRITEBYTECODE=1
xpuload --off-cpu -o train.data -o train.html python3 train.py \
	"$O/workload/py_launch.so" >waited 2>log
check $? "a Python program is recorded"
xpumerge train.data --table python_lines --csv >lines.csv 2>log
line() { grep -n "# $1\$" train.py | cut -d: -f1; }
nanoseconds() {		# nanoseconds WHAT: prints own and total time of the line with the mark WHAT
	awk -F, -v at=":$(line "$1")\"" 'index($6, at) { print $2, $4 }' lines.csv
}
is "$(nanoseconds softmax)" "16000000 16000000" "the GPU time of the line marked softmax is right"
is "$(nanoseconds qkv)" "9600000 9600000" "the GPU time of the line marked qkv is right"
is "$(nanoseconds mlp)" "6400000 6400000" "the GPU time of the line mlp is right"
is "$(nanoseconds attention)" "0 25600000" \
	"the line \"attention\", which calls other lines, has the right GPU time"
is "$(nanoseconds blocks)" "0 32000000" \
	"the line \"blocks\", which calls other lines, has the right GPU time"
is "$(nanoseconds optimizer)" "80000 80000" "the line \"optimizer\" has the right GPU time"
is "$(nanoseconds batch)" "200000 200000" "the line \"batch\" has the right GPU time"
is "$(sed -n '2s/.*"\(.*\)".*/\1/p' lines.csv)" "train.py:Attention.forward:$(line softmax)" \
	"the first row is the line with the most GPU time of its own"
task "GPU time by line of Python"

# ---- which thread waits for the GPU

COLUMNS=200 xpumerge train.data >train.txt 2>log
is "$(sed -n '2s/ waited.*//p' train.txt)" trainer \
	"the output names the thread that waits for the GPU"
xpumerge train.data --table threads --json >threads.json 2>log
python3 - "$(cat waited)" <<'END' >>log 2>&1
import json, sys
rows, measured = json.load(open("threads.json"))["threads"], int(sys.argv[1])
key = next(k for k in rows[0] if "wait" in k)
waits = {row.get("thread", row.get("name")): row[key] for row in rows}
print(waits, "measured by the program itself", measured)
assert 0.5 * measured < waits["trainer"] < 1.2 * measured and waits["loader"] < measured / 10
END
check $? "for as long as it measured itself"
task "which thread waits for the GPU"

# ---- attach to a running server, and send one file

cp "$O/workload/demo" server
LD_PRELOAD=$O/libxpushim.so ./server -s 25 >/dev/null &
server=$!
sleep 1
xpuload -p $server --duration 10 -o server.html 2>log
check $? "attached to a server that runs"
kill -0 $server
check $? "which goes on"
wait $server
check $? "and ends well"
rm server
mkdir elsewhere
mv server.html elsewhere
! grep -qE '(src|href)="?(https?:)?//|@import|fetch\(' elsewhere/server.html
check $? "the page needs no other file"
env -i PATH=/usr/bin:/bin python3 "$src/test/lib/html_folded.py" \
	nr <elsewhere/server.html >server.folded 2>log
awk '/\[GPU_Kernel\]k_/ && !/\[(before attach|after detach)\]/ {
		kernel = $0; sub(/.*\[GPU_Kernel\]k_/, "", kernel); sub(/ .*/, "", kernel)
		nr++; if (!match($0, "[:;]" kernel "\\(")) print
	} END { exit nr < 30 }' server.folded >wrong 2>log
is "$?$(cat wrong)" 0 "each kernel is under its launching function, even without the program file"
task "attach for ten seconds, and send one file"

# ---- compare two builds

cp "$src/test/workload/demo.cu" main.cu
sed 's/k_gelu, s, 3 \* US/k_gelu, s, 9 * US/' main.cu >branch.cu
for build in main branch; do
	# shellcheck disable=SC2046 # flags
	g++ -O2 -g -I"$src/test/workload" $(sh "$src/scripts/find-cupti.sh") -x c++ $build.cu \
		-x none -o $build -L"$O/sim" -lcudart -lpthread -ldl >log 2>&1 &&
		xpuload -o $build.data ./$build -s 2 >log 2>&1
	check $? "$build is built and recorded"
done
xpuload -o again.data ./main -s 2 >log 2>&1
xpumerge diff main.data again.data --fail-over 50% >/dev/null 2>log
is $? 0 "two runs of one build: exit status 0"
xpumerge diff main.data branch.data --fail-over 50% >/dev/null 2>log
is $? 1 "two builds, the second is slower: exit status 1"
grep '^  [+a-z]' log >grown
[ -s grown ] && ! grep -v '::gelu(' grown
check $? "the call paths that grew: those of gelu()"
task "compare two builds"

# ---- find the kernel that got slower

xpumerge diff main.data branch.data --gpu-only --width 0 >diff.txt 2>log
is "$(awk '/^ *B - A/ { getline; print $NF; exit }' diff.txt)" "[GPU_Kernel]k_gelu" \
	"the table of kernels begins with the kernel that got slower"
awk '/avg A/ { getline; exit !/ 3[.][0-9]+ us +9[.][0-9]+ us / }' diff.txt
check $? "and how long one of them took: 3, then 9 us"
xpumerge diff main.data branch.data -o diff.html 2>log
check $? "and as a page"
task "find the kernel that got slower"
exit $failed
