#!/bin/sh
# SPDX-License-Identifier: MIT
# Python frames in CPU samples, for every installed CPython since 3.8, without CUDA. The functions
# and lines that use the CPU are shown, with the native functions between them, also in threads and
# children. The shim reports where the interpreter is; without it, xpuload has to find the
# interpreter.
# timing
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf shim
quiet_sanitizers

cat >burn.py <<'END'
import os, sys, threading, time

def burn(ms):
    end = time.thread_time() + ms / 1000
    n = 0
    while time.thread_time() < end:
        for i in range(20000):
            n += i * i
    return n

class Model:
    def step(self):
        return sorted([1], key=lambda x: burn(120))

def in_thread():
    burn(120)

def in_child():
    burn(120)

def deep(n):
    return deep(n - 1) if n else burn(120)

def main():
    Model().step()
    t = threading.Thread(target=in_thread)
    t.start()
    t.join()
    if not os.fork():
        in_child()
        os._exit(0)
    os.wait()
    deep(60)

main()
END
count() {		# count ERE: prints the samples on the lines that match
	awk -v re="$1" '{ n = $NF; sub(/ [0-9]+$/, ""); if ($0 ~ re) sum += n }
		END { print sum + 0 }' \
		py.folded
}

# With ThreadSanitizer, xpuload finds Python so late that the first loop may already run.
late=0
case ${XPU_TOOLS_SAN:-} in *thread*) late=110 ;; esac

# near GOT EXPECTED NAME: compares samples at 999 Hz. Samples of the time that the hypervisor took
# from the CPUs may be missing.
near() {
	awk -v a="$1" -v b="$2" -v gone="$gone" \
		'BEGIN { d = b * 0.08 + 4 * sqrt(b); exit !(a <= b + d && a >= b - d - gone) }'
	ok $? "$3: $1 samples, expected about $2" || diag "$gone ms of CPU time were stolen"
}

# test/long/pythons.sh tests every Python.
sh "$XPU_SRC/test/workload/py_find.sh" "${XPU_PYTHONS:-two}" >pythons
nr=0
while read -r version python rest; do
	nr=$((nr + 1)) last=$python
	for how in "" --cpu-only; do
		name="$version${how:+, $how}"
		before_ms=$(stolen_ms)
		# shellcheck disable=SC2086 # an option or none
		xpuload $how -F 999 -o py.data "$python" burn.py 2>load.log
		is $? 0 "$name: exit status 0"
		gone=$(($(stolen_ms) - before_ms + late))
		like "$(cat load.log)" 'CPU samples.* lost 0$' "$name: nothing is lost"
		xpumerge -i py.data -f folded --unit samples -o py.folded 2>merge.log
		near "$(count \
			';burn.py:main:25;burn.py:(Model.)?step:13;burn.py:[^;]*<lambda>:13;burn.py:burn:[4-8]')" \
			120 "$name: a method, a lambda that C calls, and lines are shown"
		near "$(count \
			';[^;]*threading.py:(Thread[.])?run:[0-9]+;burn.py:in_thread:16;burn.py:burn:')" \
			120 "$name: a thread has its own Python frames"
		near "$(count ';burn.py:main:30;burn.py:in_child:19;burn.py:burn:')" 120 \
			"$name: a child has its own Python frames"
		sed 's/burn.py:deep:22;/&/60; t; d' py.folded >deep.folded
		near "$(awk '{ n += $NF } END { print n + 0 }' deep.folded)" 120 \
			"$name: a deep stack is complete"
		unlike "$(grep 'burn.py:burn' py.folded)" '_PyEval_EvalFrameDefault' \
			"$name: stacks have no frame of the evaluation loop"
		# A sample may hit a frame that the interpreter is just creating, or a code object
		# with a page that is not resident. Such a frame has no name, and is counted.
		unnamed=$(count 'burn.py:burn.*;\[python\]|\[python\].*;burn.py:burn')
		[ "$unnamed" -le 5 ]
		ok $? "$name: few samples have a code object without a name: $unnamed" ||
			diag "$(grep '\[python\]' py.folded)"
		[ "$unnamed" -eq 0 ] || grep -q 'frames* without a function name' merge.log
		ok $? "$name: frames without a name are counted"
		[ "$(count ';\[truncated\]')" -lt 30 ]
		ok $? "$name: few stacks are cut" || diag "$(count ';\[truncated\]')"
	done
done <pythons
[ $nr -gt 0 ] || skip_all "no CPython 3.8 to 3.13"

xpuload -F 999 --python off -o py.data "$last" burn.py 2>load.log
xpumerge -i py.data -f folded --unit samples -o py.folded 2>merge.log
is "$(count 'burn[.]py:') $(($(count .) > 300))" "0 1" "--python off: no Python frame is shown"
xpuload -q --cpu-only -F 999 --python off -o py.data "$last" burn.py 2>load.log
xpumerge -i py.data -f folded --unit samples -o py.folded 2>merge.log
is "$(count 'burn[.]py:') $(($(count .) > 300))" "0 1" \
	"--cpu-only --python off: no Python frame is shown"

# A running program, and the program that it executes. The process that reads their files has no
# privileges.
cat >running.py <<'END'
import os, sys, time
def burn(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        sum(range(1000))
def before():
    while not os.path.exists("go"):
        burn(0.1)
def after():
    burn(0.3)
if len(sys.argv) > 1:
    after()
else:
    before()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
END
"$last" running.py &
pid=$!
"$XPULOAD" -q --cpu-only -F 999 -p $pid -o running.data 2>load.log &
loader=$!
finds_python() {		# tests whether the recording has a function of the program
	xpumerge -i running.data -f folded --unit samples 2>/dev/null |
		grep -q 'running.py:before:8;'
}
nobody="65534 65534 65534 65534 0000000000000000 0000000000000000 0000000000000000 1 $([ -n \
	"$XPU_TOOLS_SAN" ] &&
	echo 0 || echo 2) 0 1 2 3 "
looks_bare() {		# tests whether the child that finds Python has dropped all privileges
	for child in $(pgrep -P $loader -x xpuload-python); do
		sed -n 's/^\(Uid\|CapEff\|CapPrm\|CapInh\|NoNewPrivs\|Seccomp\):[\t ]*//p' \
			/proc/$child/status |
			tr '\t\n' '  '
		ls /proc/$child/fd | tr '\n' ' '
	done >child 2>/dev/null
	[ -s running.data ] && [ "$(cat child)" = "$nobody" ]
}
wait_for looks_bare
wait_for finds_python
touch go
wait $loader
is $? 0 "attached: exit status 0"
wait $pid
is "$(cat child)" "$nobody" \
	"the child that looks for Python has a system call filter, one socket and no privileges"
xpumerge -i running.data -f folded --unit samples -o py.folded 2>merge.log
[ "$(count ';running.py:<module>:14;running.py:before:8;running.py:burn:')" -gt 50 ]
ok $? "attached: Python's frames are found" || diag "$(tail -n 3 py.folded)"
[ "$(count ';running.py:<module>:12;running.py:after:10;running.py:burn:')" -gt 100 ]
ok $? "attached: Python's frames are found after an exec, too" || diag "$(tail -n 3 py.folded)"
done_testing
