#!/bin/sh
# SPDX-License-Identifier: MIT
# Python's frames in CPU samples, of every CPython from 3.8 on that is here, without any CUDA: the
# functions and lines that burn the time, with the native ones between, in threads and children, too.
# timing
. "$XPU_SRC/test/lib/tap.sh"
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
        return sorted([1], key=lambda x: burn(300))

def in_thread():
    burn(300)

def in_child():
    burn(300)

def deep(n):
    return deep(n - 1) if n else burn(300)

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
count() {		# count ERE: samples on the lines that match
	awk -v re="$1" '{ n = $NF; sub(/ [0-9]+$/, ""); if ($0 ~ re) sum += n } END { print sum + 0 }' \
		py.folded
}

# near GOT EXPECTED NAME, at 999 Hz. What the hypervisor took of the CPUs may be missing.
near() {
	awk -v a="$1" -v b="$2" -v gone="$gone" \
		'BEGIN { d = b * 0.08 + 4 * sqrt(b); exit !(a <= b + d && a >= b - d - gone) }'
	ok $? "$3: $1 samples" || diag "expected about $2, $gone ms of CPU time were stolen"
}

sh "$XPU_SRC/test/workload/py_find.sh" >pythons
nr=0
while read -r version python rest; do
	nr=$((nr + 1))
	before_ms=$(stolen_ms)
	xpuload -F 999 -o py.data "$python" burn.py 2>load.log
	is $? 0 "$version: status"
	gone=$(($(stolen_ms) - before_ms))
	like "$(cat load.log)" 'CPU samples; .* lost 0$' "$version: nothing lost"
	xpumerge -i py.data -f folded --unit samples -o py.folded 2>merge.log
	near "$(count ';burn.py:main:25;burn.py:(Model.)?step:13;burn.py:[^;]*<lambda>:13;burn.py:burn:[4-8]')" \
		300 "$version: a method, a lambda that C calls, lines"
	near "$(count ';[^;]*threading.py:(Thread[.])?run:[0-9]+;burn.py:in_thread:16;burn.py:burn:')" 300 \
		"$version: a thread"
	near "$(count ';burn.py:main:30;burn.py:in_child:19;burn.py:burn:')" 300 "$version: a child"
	sed 's/burn.py:deep:22;/&/60; t; d' py.folded >deep.folded
	near "$(awk '{ n += $NF } END { print n + 0 }' deep.folded)" 300 "$version: deep"
	unlike "$(grep 'burn.py:burn' py.folded)" '_PyEval_EvalFrameDefault|\[python\]' \
		"$version: no loop is left, each code object has its name"
	[ "$(count ';\[truncated\]')" -lt 30 ]
	ok $? "$version: few are cut" || diag "$(count ';\[truncated\]')"
done <pythons
[ $nr -gt 0 ] || skip_all "no CPython 3.8 to 3.13"

xpuload -F 999 --python off -o py.data "$python" burn.py 2>load.log
xpumerge -i py.data -f folded --unit samples -o py.folded 2>merge.log
is "$(count 'burn[.]py:')" 0 "--python off: none"
done_testing
