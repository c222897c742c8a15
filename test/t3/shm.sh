#!/bin/sh
# SPDX-License-Identifier: MIT
# If BPF is not permitted, launches come through shared memory. The launches are as exact as with
# BPF, and losses are counted, too. Killing either side loses no more than with BPF. XPU_SHM_KILLS
# is the number of kills of each kind.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root shim
quiet_sanitizers
use_sim
kills=${XPU_SHM_KILLS:-10}

# An installed copy, for a user without privileges.
umask 022
chmod 755 .
mkdir -p inst/bin inst/lib/xpuload home
cp "$XPULOAD" inst/bin
cp "$XPU_SHIM" inst/lib/xpuload
chown 65534 home
inst=$PWD/inst/bin/xpuload
exact="$XPU_BUILD/workload/exact"
refuse="$XPU_BUILD/workload/refuse"

# bare COMMAND...: runs COMMAND as a user without privileges, in this user's directory
bare() {
	(cd home && setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all \
		--inh-caps -all "$@")
}

# placed NAME: prints the verdict on NAME, leaving out device work whose launch was lost
placed() {
	verdict "$1" >/dev/null
	grep -v ';\[no launch\];' "$1.folded" >placed.folded
	"$XPU_SRC/test/lib/verdict.sh" placed.folded "$1.mlog"
}

# ---- without privileges

bare "$inst" -o e.data "$exact" -t 8 -s 16 -n 160000 >out 2>home/e.log
is $? 0 "without privileges: exit status 0" || diag "$(cat home/e.log)"
exact home/e 160000 "without privileges, 8 threads: every launch is matched, under its own site"
like "$(head -n 1 home/e.log)" \
	'^xpuload: launches come through shared memory: cannot .*: (Operation not permitted|Permission denied)' \
	"a message says that launches come through shared memory, and why"
like "$(tail -n 1 home/e.log)" \
	'^xpuload: 160000 launches .* 160000 device records, 1 process; .*through shared memory; .*; lost 0$' \
	"the summary says that launches come through shared memory"

# The system call filter of a container may even forbid a process to open perf events on itself.
bare "$refuse" bpf perf -- "$inst" -o r.data "$exact" -t 4 -s 16 -n 20000 -d -m >out 2>home/r.log
is $? 0 "bpf() and perf_event_open() are refused: exit status 0" || diag "$(cat home/r.log)"
like "$(exact home/r 22500 \
	"both refused: every launch is matched, under its own site"; cat home/r.log)" \
	'are not recorded: perf_event_open: ' \
	"bpf() and perf_event_open() are refused: a message says which data are missing"
like "$(cat home/r.folded)" \
	'^exact;.*start_thread;(asan_thread_start[^;]*;)?worker_main\(void\*\);.*site_03;.*\[GPU_Kernel\]kernel_03 ' \
	"bpf() and perf_event_open() are refused: call paths are complete, with names"

for how in "--probe launch" "--call-graph fp" "--nvtx=off --api" "--python off --max-stack 40"; do
	# shellcheck disable=SC2086 # options
	bare "$inst" --transport shm $how -o o.data "$exact" -t 2 -n 4000 >out 2>home/o.log
	exact home/o 4000 "$how: every launch is matched, under its own site"
done

# CPU samples come from perf, if that is permitted.
if [ "$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 9)" -le 2 ]; then
	for how in "" "--call-graph fp" --cpu-only; do
		# shellcheck disable=SC2086 # options, or none
		bare "$inst" -F 299 $how -o p.data sh \
			-c 'x=1; "$0" 300 user && exec "$0" 100 threads=2' \
			"$XPU_BUILD/workload/cpu" >out 2>home/p.log
		is $? 0 "CPU samples $how: exit status 0" || diag "$(cat home/p.log)"
		like "$(tail -n 1 home/p.log)" \
			'[1-9][0-9]+ CPU samples.*through (shared memory|perf events); ' \
			"CPU samples $how: samples are taken"
		xpumerge -i home/p.data -f folded -o p.folded 2>p.mlog
		like "$(cat p.folded)" '^cpu;.*main;call_user;burn_user[; ]' \
			"CPU samples $how: a child's samples have function names"
		like "$(cat p.folded)" ';burn_thread[; ]' "CPU samples $how: threads are sampled"
	done
else
	skip "CPU samples" "perf_event_paranoid is above 2"
fi
bare "$refuse" bpf perf -- "$inst" -F 99 -o x.data true 2>log
is "$? $(grep -c 'cannot sample CPUs without BPF: perf_event_open: Operation not permitted' log)" \
	"125 1" "perf_event_open() is refused: -F fails, and a message says why"
like "$(cat home/r.log)" 'not recorded without BPF: CPU samples' \
	"perf_event_open() is refused, no -F: a message says that samples are missing"

# The transport that the user chooses.
bare "$inst" --transport bpf -o x.data "$exact" >out 2>log
is "$? $(wc -l <log)" "125 1" "--transport bpf where BPF is not allowed: refused, with one line"
like "$(cat log)" '^xpuload: cannot .*not permitted.*: ' \
	"--transport bpf where BPF is not allowed: the message says why"
bare "$inst" --off-cpu -o x.data "$exact" >out 2>log
is $? 125 "--off-cpu without BPF: refused"
like "$(cat log)" 'a COMMAND can be recorded, but without --off-cpu$' \
	"--off-cpu without BPF: the message says what is possible"
bare "$inst" -a -o x.data >out 2>log
is $? 125 "-a without BPF: refused"
like "$(cat log)" 'but no running program can be attached to$' \
	"-a without BPF: the message says what is possible"
for args in "-a" "-p 1" "--off-cpu $exact"; do
	# shellcheck disable=SC2086 # options
	xpuload --transport shm $args 2>log
	is $? 125 "--transport shm $args: refused"
	like "$(cat log)" '^xpuload: --transport shm ' "--transport shm $args: a message says why"
done
if "$XPULOAD" --check >check.log 2>&1; then
	xpuload -o b.data "$exact" -n 1000 >out 2>log
	like "$(cat log)" '; through BPF; .*; lost 0$' "where BPF is allowed, xpuload uses BPF"
else
	skip "where BPF is allowed, xpuload uses BPF" "$(grep MISSING check.log | head -n 1)"
fi

# ---- children

cat >home/children.sh <<-'END'
	"$1" -n 300 || exit 1				# fork before CUDA, then exec
	i=3
	while [ $i -lt 10 ]; do eval "exec $i>&-"; i=$((i + 1)); done
	setsid "$2" -n 300 >/dev/null || exit 2	# in its own session, without open file descriptors
	(cd / && exec env -u PWD "$2" -n 300) >/dev/null
END
for wall in "" "$refuse bpf perf --"; do
	# shellcheck disable=SC2086 # words
	bare $wall "$inst" --transport shm -o c.data sh children.sh "$XPU_BUILD/workload/forks" \
		"$exact" >out 2>home/c.log
	is $? 0 "children${wall:+, no BPF or perf}: exit status 0" || diag "$(cat home/c.log)"
	exact home/c 1500 \
		"children${wall:+, no BPF or perf}: every launch is matched, under its own site"
done
if command -v python3 >/dev/null; then
	cat >spawn.py <<-'END'
	import os, subprocess, sys
	a = [os.posix_spawn(sys.argv[1], [sys.argv[1], "-n", "300"], os.environ) for _ in range(3)]
	a = [os.waitpid(pid, 0)[1] for pid in a]
	sys.exit(any(a) or subprocess.call([sys.argv[1], "-n", "300"], close_fds=True))
	END
	xpuload --transport shm -o s.data python3 spawn.py "$exact" >out 2>log
	is $? 0 "children of posix_spawn(): exit status 0" || diag "$(cat log)"
	exact s 1200 "children of posix_spawn(): every launch is matched, under its own site"
else
	skip "children of posix_spawn()" "no python3"
fi
xpuload --transport shm -o ns.data unshare -pf --propagation unchanged "$exact" -t 2 \
	-n 1000 >out 2>log
exact ns 1000 "in its own pid namespace: every launch is matched, under its own site"

# If no connection is possible, the target runs without a recording, and a message says so.
bare "$inst" --strict --transport shm -o no.data "$refuse" connect -- "$exact" -n 1000 >out 2>log
is $? 125 "xpuload cannot be reached: --strict fails"
is "$(cat out)" "exact: threads 8 sites 16 launches 1000" \
	"xpuload cannot be reached: the target runs to its end"
like "$(cat log)" '1 process used CUDA, could not reach xpuload, and is not recorded' \
	"xpuload cannot be reached: a message says that nothing is recorded"
like "$(cat log)" '; lost 1001$' \
	"xpuload cannot be reached: the process and its launches are counted as lost"
unlike "$(cat log)" 'made no CUDA or OpenCL launch' \
	"xpuload cannot be reached: no message says that the target made no launches"
bare "$inst" --strict --transport shm -o no.data "$refuse" memfd shmget -- "$exact" \
	-n 1000 >out 2>log
is "$? $(cat out)" "125 exact: threads 8 sites 16 launches 1000" \
	"no memory to share: the target runs to its end, and --strict fails"
like "$(cat log)" 'pid [0-9]+ is not recorded: it could not create shared memory' \
	"no memory to share: a message says that nothing is recorded"
like "$(cat log)" '; lost 1$' "no memory to share: the process is counted as lost"
unlike "$(cat log)" 'made no CUDA or OpenCL launch' \
	"no memory to share: no message says that the target made no launches"

# xpuload itself has no counters that such processes can reach.
"$refuse" shmget -- "$XPULOAD" --transport shm -o no.data true 2>log
like "$(cat log)" 'warning: no System V shared memory: processes that cannot connect will not be cou' \
	"no counters for processes that cannot connect: a warning"

# In other network and IPC namespaces, or as another user in another network namespace, even the
# counters are unreachable.
for how in "unshare -ni" "unshare -n setpriv --reuid 65534 --clear-groups"; do
	if ! $how true 2>/dev/null; then
		skip "$how" "no namespaces"
		continue
	fi
	"$XPULOAD" --strict --transport shm -F 1 -o no.data $how "$exact" -n 1000 >out 2>log
	is "$? $(cat out)" "125 exact: threads 8 sites 16 launches 1000" \
		"$how: the target runs to its end, and --strict fails"
	like "$(cat log)" '1 process used CUDA, could not reach xpuload, and is not recorded' \
		"$how: a message says that the process is not recorded"
	unlike "$(cat log)" 'made no CUDA or OpenCL launch' \
		"$how: no message says that the target made no launches"
done
# Without perf events, xpuload cannot know whether a process in other namespaces made launches.
"$refuse" perf -- "$XPULOAD" --strict --transport shm -o no.data unshare -ni "$exact" \
	-n 1000 >out 2>log
is $? 125 "other namespaces, no perf events: --strict fails"
like "$(cat log)" 'made no CUDA or OpenCL launch: .*or it could not reach xpuload from another network' \
	"other namespaces, no perf events: the message names other namespaces"

# A process that cannot create a file for its memory uses another kind of memory. limited.sh LIMIT:
# files have at most LIMIT blocks.
cat >home/limited.sh <<-'END'
	ulimit -f "$1"
	"$EXACT" -t 4 -n 2000 >/dev/null
	echo "status $? limit $(ulimit -f)"
END
for limit in 40000 1; do
	EXACT="$exact" bare "$inst" --strict --transport shm -F 1 -o lim.data \
		sh limited.sh $limit >out 2>log
	is "$? $(cat out)" "0 status 0 limit $limit" \
		"files of at most $limit blocks: the program ends as without xpuload" ||
		diag "$(cat log)"
	exact home/lim 2000 \
		"files of at most $limit blocks: every launch is matched, under its own site"
done
rm -f out log
# shellcheck disable=SC2016 # in the other shell
"$XPULOAD" --strict --transport shm -o stop.data sh -c 'kill -STOP $PPID; exec "$0" -n 1000' \
	"$exact" >out 2>log &
pid=$!
wait_for grep -qs 'exact: ' out
ok $? "xpuload is stopped by a signal: the target keeps running"
kill -CONT $pid
wait $pid
is $? 0 "xpuload is stopped by a signal: nothing is lost"
exact stop 1000 "xpuload is stopped by a signal: every launch is matched, under its own site"

if command -v python3 >/dev/null; then
	# Children that connect repeatedly, each time as another process image.
	cat >hammer.py <<-'END'
	import os, signal, sys, time
	sys.path.insert(0, os.environ["XPU_SRC"] + "/test/lib")
	from shm_caller import Caller
	signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
	loader = os.getppid()
	def hammer():
	    caller = Caller()
	    while True:
	        try:
	            fd = caller.memory()
	            caller.send([fd]).close()
	        except OSError:
	            pass
	        os.close(fd)
	pids = []
	for _ in range(2):
	    pid = os.fork()
	    if not pid:
	        hammer()
	    pids.append(pid)
	time.sleep(0.3)
	os.kill(loader, signal.SIGTERM)
	print("answered" if signal.sigtimedwait([signal.SIGTERM], 60) else "not answered")
	for pid in pids:
	    os.kill(pid, signal.SIGKILL)
	END
	is "$(xpuload --transport shm -o h.data python3 hammer.py 2>log)" answered \
		"a process connects endlessly: xpuload still ends on SIGTERM"

	cat >call.py <<-'END'
	import os, sys
	sys.path.insert(0, os.environ["XPU_SRC"] + "/test/lib")
	from shm_caller import Caller, put_launches
	caller = Caller(open("home/shm").read().strip())
	fd = caller.memory()
	put_launches(fd, 10)
	caller.send([fd]).close()
	END
	# shellcheck disable=SC2016 # in the other shell
	bare "$inst" --transport shm -o u.data sh -c 'echo "$XPUSHIM_SHM" >shm.new; mv shm.new shm
		until [ -e over ]; do sleep 0.02; done' >out 2>log &
	pid=$!
	wait_for test -e home/shm
	python3 call.py
	setpriv --reuid 65534 --clear-groups python3 call.py
	: >home/over
	wait $pid
	like "$(tail -n 2 log)" '^xpuload: 10 launches .*; lost 1$' \
		"only processes of the same user are recorded"
	like "$(cat log)" "is not recorded: it belongs to another user: run xpuload as root" \
		"another user's process: a message says that it is not recorded"
else
	skip "processes that call" "no python3"
fi

# ---- losses

# xpuload stops reading: launches that do not fit into the ring are counted. The program says how
# many it launched.
start full "$XPULOAD" --transport shm --gpu-only -m 64K -o full.data "$live" -t 2 -s 1800
ask full "burst 100" >/dev/null
kill -STOP "$full_pid"
ask full "burst 60000" >/dev/null
kill -CONT "$full_pid"
finish full
is $? 0 "a full ring: exit status 0"
made=$(awk '$1 == "live:" { print $3 + $5 }' full.out)
got=$(sed -n 's/^xpuload: \([0-9]*\) launches.*/\1/p' full.err)
dropped=$(sed -n 's/.*lost: \([0-9]*\) launches (ring full: try -m).*/\1/p' full.err)
diag "made $made, recorded $got, lost ${dropped:-none}"
[ "${dropped:-0}" -gt 1000 ]
ok $? "a full ring: launches are lost"
is $((got + dropped)) "$made" "a full ring: each lost launch is counted"
like "$(cat full.err)" '[0-9] batches of device records \(ring full: try -m\)' \
	"a full ring: lost batches are counted, too"
unlike "$(cat full.err)" 'not received' "a full ring: no other reason for a loss is given"
like "$(placed full)" ' wrong 0 ' "a full ring: each recorded launch is under its own site"

# ---- kill -9

# The target is killed: all launches up to the kill are recorded.
bad=0 n=0
while [ $n -lt "$kills" ]; do
	n=$((n + 1))
	rm -rf k.* counts
	"$XPULOAD" --transport shm --gpu-only -o k.data "$XPU_BUILD/workload/ends" \
		-n $((n * 379 % 2000 + 1)) killed >k.out 2>k.log
	status=$?
	made=$(sed -n 's/^ends: launches //p' k.out)
	line=$(verdict k)
	# shellcheck disable=SC2046,SC2086 # words
	set -- $line $(perl -e 'local $/; my @c = unpack("q*", <>); my ($begun, $done) = (0, 0);
		while (@c) { $begun += shift @c; $done += shift @c } print "$begun $done"' counts)
	[ "$status $6 ${10}" = "137 0 0" ] && [ $(($4 + $8)) = "$2" ] &&
		[ $(($2 - made)) -ge "${12}" ] &&
		[ $(($2 - made)) -le "${11}" ] && continue
	bad=$((bad + 1))
	diag "status $status: $line; made $made, others begun and done ${11} ${12}"
done
is $bad 0 \
	"$kills kills of the target: each launch before the kill is recorded, under its own site"

# xpuload is killed: the target runs to its end, and the file can be read.
bad=0 n=0
while [ $n -lt "$kills" ]; do
	n=$((n + 1))
	rm -rf k.*
	# shellcheck disable=SC2016 # the recorded shell expands it
	"$XPULOAD" --transport shm --gpu-only -o k.data sh \
		-c ': >k.began; "$0" -t 4 -n 20000 >k.out; echo $? >k.status' "$exact" 2>k.log &
	pid=$!
	wait_for test -e k.began
	sleep "0.$(printf %03d $((n * 37 % 400)))"
	kill -9 "$pid" 2>/dev/null
	wait $pid 2>/dev/null
	wait_for test -s k.status
	wrong=0
	[ ! -s k.data ] || wrong=$(placed k | sed 's/.* wrong \([0-9]*\) .*/\1/')
	[ "$(cat k.status) $(cat k.out) $wrong" = "0 exact: threads 4 sites 16 launches 20000 0" \
		] &&
		! grep -qs damaged k.mlog && continue
	bad=$((bad + 1))
	diag "status $(cat k.status), $(cat k.out), $(cat k.mlog)"
done
is $bad 0 \
	"xpuload is killed $kills times: the target is unharmed, and no launch in the file is wrong"
done_testing
