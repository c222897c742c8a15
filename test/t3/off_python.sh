#!/bin/sh
# SPDX-License-Identifier: MIT
# Off the CPU in Python, with every installed CPython since 3.8: blocked time is shown in the
# function that blocked. This time equals the time that the program itself measured, also in threads
# and children.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf shim
quiet_sanitizers

export PYTHONPATH="$XPU_SRC/test/lib" PYTHONDONTWRITEBYTECODE=1
cat >block.py <<'END'
import os, threading, time; from blocked import blocked_ns, wait_until_blocked

def timed(name, fn, *args):
    begin = blocked_ns()
    fn(*args)
    times[name] = times.get(name, 0) + blocked_ns() - begin

def reader(fd):
    os.read(fd, 1)

class Model:
    def pause(self):
        time.sleep(0.02)

def waiter(lock):
    lock.acquire()

def deep(n):
    return deep(n - 1) if n else time.sleep(0.1)

def produce(fd):
    for i in range(10):
        time.sleep(0.02)
        os.write(fd, b"x")

def consume(fd):
    for i in range(10):
        timed("reader", reader, fd)

def pauses():
    for i in range(10):
        timed("pause", Model().pause)

time.sleep(0.4)		# until xpuload has found the interpreter
times = {}
r, w = os.pipe()
lock = threading.Lock()
lock.acquire()
threads = [threading.Thread(target=produce, args=(w,)),
           threading.Thread(target=consume, args=(r,)),
           threading.Thread(target=pauses),
           threading.Timer(0.15, lock.release)]
for t in threads:
    t.start()
timed("waiter", waiter, lock)
for t in threads:
    t.join()
timed("deep", deep, 60)
if not (pid := os.fork()):
    times.clear()
    timed("child", reader, r)
    print("child", times["child"], flush=True)
    time.sleep(0.3)	# while xpuload reads the names of code objects
    os._exit(0)
wait_until_blocked(pid)
time.sleep(0.1)
os.write(w, b"x")
os.wait()
time.sleep(0.3)
for name in times:
    print(name, times[name])
END

# here ERE: adds up the nanoseconds on the lines that match ERE
here() {
	awk -v re="$1" '{ n = $NF; sub(/ [0-9]+$/, ""); if ($0 ~ re) sum += n }
		END { printf "%d\n", sum }' \
		py.folded
}

# blocked NAME FRAMES KIND: checks that FRAMES contain the time for which NAME was blocked, as the
# program itself measured it. Most of the time is KIND; the thread may also wait for the
# interpreter's lock.
blocked() {
	want=$(awk -v name="$1" '$1 == name { print $2 }' run.out)
	all=$(here ";$2;.*\\[Off_CPU\\](io|lock|sleep|poll|child|other)\$")
	kind=$(here ";$2;([^;]*;)*\\[Off_CPU\\]$3\$")
	awk -v want="$want" -v all="$all" -v kind="$kind" -v what="$1 $3" 'BEGIN {
		d = all > want ? all - want : want - all
		right = d < want * 0.03 + 1e6 && kind > all * 0.6
		print right ? "ok" : "WRONG", what ": " want ", blocked " all ", as that " kind }'
}

record() {
	xpuload --off-cpu -o py.data "$python" block.py >run.out 2>load.log
	echo $? >status
	xpumerge -i py.data --waits -f folded --unit ns -o py.folded 2>merge.log
	frame='block.py:'
	thread='threading.py:(Thread[.])?run:[0-9]+'
	sleep='sleep'
	case $version in 3.[89].* | 3.10.*) sleep='poll' ;; esac	# sleep() calls select()
	{
		blocked reader "$thread;${frame}consume:28;${frame}timed:5;${frame}reader:9" io
		blocked pause \
			"$thread;${frame}pauses:32;${frame}timed:5;${frame}(Model[.])?pause:13" \
			$sleep
		blocked waiter "${frame}<module>:45;${frame}timed:5;${frame}waiter:16" lock
		blocked deep "${frame}<module>:48;${frame}timed:5$deep" $sleep
		blocked child "${frame}<module>:51;${frame}timed:5;${frame}reader:9" io
	} >verdict
}

deep=$(printf ';block.py:deep:19%.0s' $(seq 61))
# test/long/pythons.sh tests every Python.
sh "$XPU_SRC/test/workload/py_find.sh" "${XPU_PYTHONS:-two}" >pythons
nr=0
while read -r version python rest; do
	nr=$((nr + 1)) last=$python
	# If a hypervisor stops the machine, a thread seems to run although it does not: then the
	# test tries again.
	for try in 1 2 3; do
		record
		grep -q WRONG verdict || break
	done
	is "$(cat status)" 0 "$version: the expected exit status"
	like "$(cat load.log)" 'CPU samples?; .* lost 0$' "$version: nothing is lost"
	is "$(grep -c '^ok' verdict)" 5 \
		"$version: each blocked function has the right time and kind" ||
		diag "$try: $(cat verdict py.folded)"
	grep 'block.py:timed:5;.*Off_CPU' py.folded >blocked.folded
	is "$(grep -cE '_PyEval_|libpython|python3[0-9.]*\+0x' blocked.folded)" 0 \
		"$version: the interpreter's frames are left out"
	is "$(grep -cE '^.waits.;[^;]*;(_start|clone3?|__clone3?);' blocked.folded)" \
		"$(grep -c . blocked.folded)" \
			"$version: all stacks are complete" || diag "$(cat blocked.folded)"
done <pythons
[ $nr -gt 0 ] || skip_all "no CPython 3.8 to 3.13"

xpuload -q --off-cpu --python off -o py.data "$last" block.py >run.out 2>load.log
xpumerge -i py.data --waits -f folded --unit ns -o py.folded 2>merge.log
is "$(here 'block[.]py:') $(($(here .) > 100000000))" "0 1" \
	"--python off: blocked time is recorded, without Python frames"
done_testing
