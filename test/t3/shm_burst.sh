#!/bin/sh
# SPDX-License-Identifier: MIT
# With shared memory: many processes start at once, and processes start and end while xpuload is
# stopped. Each launch is recorded, or counted if it could not reach xpuload.
# test/long/by_hand/shm_burst.sh runs this test with five rounds of 1,000 processes, and 100 stops.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root shim
quiet_sanitizers
use_sim
nr=${XPU_BURST:-200}
rounds=${XPU_BURST_ROUNDS:-1}
stops=${XPU_BURST_STOPS:-4}
stop_s=${XPU_BURST_STOP_S:-3}

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

# many.sh NR LAUNCHES: runs NR processes at once
cat >many.sh <<-'END'
	i=0
	while [ $i -lt "$1" ]; do
		"$EXACT" -t 1 -s 2 -n "$2" >/dev/null &
		i=$((i + 1))
	done
	wait
END
cp many.sh home
export EXACT="$exact"

# account LOG: prints the numbers of recorded launches, lost launches, and lost processes
account() {
	perl -ne '$got = $1 if /^xpuload: (\d+) launch/;
		$ring = $1 if /lost: .*?(\d+) launches \(ring full/;
		$far = $1 if /lost: .*?(\d+) launches of processes that could not reach/;
		$gone = $1 if /lost: .*?(\d+) processes that used CUDA/;
		END { print $got + 0, " ", $ring + $far, " ", $gone + 0 }' "$1"
}

# ---- many at once

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	for who in "" bare; do
		for how in "--transport shm" ""; do
			[ -n "$who$how" ] || continue	# root may use BPF
			# shellcheck disable=SC2086 # words, or none
			$who "$inst" --strict $how -F 1 -o b.data sh many.sh "$nr" 200 >out 2>log
			is $? 0 \
				"$nr processes at once${who:+, no privileges}${how:+, $how}: no loss is reported" ||
				diag "$(cat log)"
			is "$(account log)" "$((nr * 200)) 0 0" \
				"$nr processes at once${who:+, no privileges}${how:+, $how}: all launches are recorded"
		done
	done
done
xpumerge -i home/b.data -f folded --unit count -o b.folded 2>log
like "$(cat log)" "launches $((nr * 200)) matched $((nr * 200)) unmatched 0 lost 0" \
	"many processes at once: each launch has its kernel"

# ---- no perf events: the processes themselves report their mappings

# xpuload is not notified when a process ends, or when its pid is reused.
bare "$refuse" perf -- "$inst" --strict --transport shm -o p.data sh many.sh 50 200 >out 2>log
is "$? $(account log)" "0 10000 0 0" "50 processes, no perf events: nothing is lost" ||
	diag "$(cat log)"
exact home/p 10000 "50 processes, no perf events: every launch is matched, under its own site"

# late NAME COMMAND...: records COMMAND without perf events, and lets xpuload read nothing before
# COMMAND ends
late() {
	late_name=$1
	shift
	# shellcheck disable=SC2016,SC2086 # the inner shell expands it; several words, or none
	"$refuse" perf -- "$XPULOAD" --strict --transport shm ${late_options:-} \
		-o "$late_name.data" sh -c \
		'kill -STOP $PPID; "$@"; kill -CONT $PPID; sleep 0.5' sh "$@" >out 2>log
	late_status=$?
	xpumerge -i "$late_name.data" -f folded --unit count \
		-o "$late_name.folded" 2>"$late_name.mlog"
	return $late_status
}

late ended sh many.sh 60 200
is "$? $(account log)" "0 12000 0 0" \
	"60 processes that end before xpuload looks at them: nothing is lost" ||
	diag "$(cat log)"
exact ended 12000 "60 processes that have ended: every launch is matched, under its own site"
is "$(grep -vc '^exact;' ended.folded)" 0 \
	"60 processes that have ended: the recording has their names"
# shellcheck disable=SC2016 # in the other shell
late images sh -c '"$0" -n 300; exec "$1" -n 200' "$XPU_BUILD/workload/forks" "$exact"
is $? 0 "a fork and execs that have ended: nothing is lost" ||
	diag "$(cat log)"
exact images 1100 "a fork and execs that have ended: every launch is matched, under its own site"

# Threads that end before their process begins to end have names, too.
late names "$exact" -c -t 200 -n 1000
is "$? $(account log)" "0 1000 0 0" "200 threads that have ended: nothing is lost" ||
	diag "$(cat log)"
xpumerge -i names.data --by comm -f folded --unit count -o names.folded 2>mlog
awk '{ name = $1; sub(/;.*/, "", name); nr[name] += $NF }
	END { for (name in nr) print name, nr[name] }' names.folded | sort >names
is "$(cat names)" "$(seq -f 'thread-%03g 5' 0 199)" \
	"200 threads that have ended: each launch has the name of its thread"
if [ -z "${XPU_SAN:-}" ]; then
	late in_malloc "$XPU_BUILD/workload/in_malloc" -n 300
	exact in_malloc 300 "a process that ended inside malloc(): all launches are recorded"
	is "$(grep -c 'while the thread is in malloc' log)" 0 \
		"a process that ended inside malloc(): the shim allocates nothing"
fi

# The shim finds the build-ids in the process's memory, because the kernel reports build-ids only
# for mapped files.
ids=$(xpumerge dump ended.data |
	sed -n 's/.* MMAP .* build_id=\([0-9a-f]*\) .*\/workload\/exact"$/\1/p' | sort -u)
is "$ids" "$(readelf -n "$exact" | sed -n 's/.*Build ID: //p')" \
	"each mapping of the program has its build-id"

late killed "$XPU_BUILD/workload/ends" -n 500 killed
unlike "$(cat log)" 'mmap or comm events' "a process that is killed has reported its mappings"
is "$(grep -v '\[no launch\]' killed.folded | grep -vc ';site_[a-z]*;')" 0 \
	"a process that is killed: each launch has its path"

# A library that is loaded later is reported within 100 ms, or counted.
if command -v python3 >/dev/null && [ -e "$XPU_BUILD/workload/py_launch.so" ]; then
	# later.py SECONDS WHAT: launches once and is killed. With "library" it launches SECONDS
	# after it loaded py_launch.so. With "generated" it launches SECONDS after it generated code
	# that launches. With "early" it launches from code that it generated before cuInit. With
	# "unloaded" it is not killed, but unloads the library and ends.
	cat >later.py <<-'END'
	import ctypes, mmap, os, sys, time
	pc = os.uname().machine == "x86_64"
	what = sys.argv[2]
	cuda = ctypes.CDLL("libcuda.so.1")
	def load():
	    return ctypes.CDLL(os.environ["XPU_BUILD"] + "/workload/py_launch.so")
	def generate():		# a function that calls its last argument with the other arguments
	    global code
	    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
	    code.write(bytes.fromhex("554889e5ffd15dc3" if pc else
	        "fd7bbfa9fd03009160003fd6fd7bc1a8c0035fd6"))
	    return ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint, ctypes.c_size_t,
	        ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
	if what == "early":
	    call = generate()
	cuda.cuInit(0)
	time.sleep(0.3)
	py = load()
	py.py_launch_init()
	if what == "generated":
	    time.sleep(0.5)
	    call = generate()
	time.sleep(float(sys.argv[1]))
	if what in ("early", "generated"):
	    memory = ctypes.c_uint64()
	    cuda.cuMemAlloc_v2(ctypes.byref(memory), 16)
	    call(memory.value, 0, 16, ctypes.cast(cuda.cuMemsetD8_v2, ctypes.c_void_p))
	else:
	    py.py_launch(1)
	if what == "unloaded":
	    ctypes.CDLL(None).dlclose(ctypes.c_void_p(py._handle))
	    sys.exit()
	ctypes.CDLL(None).syscall(62 if pc else 129, os.getpid(), 9)
	END
	late later python3 later.py 0.5 library
	is "$(grep -c ';py_launch;' later.folded) $(sed -n 's/.*\(mmap\) or comm.*/\1/p' log)" \
		"1 " \
		"a library that is loaded shortly before a kill: its functions have names" ||
		diag "$(cat log later.folded)"
	for how in library "--call-graph fp library" generated "--call-graph fp generated" \
		unloaded; do
		late_options=${how% *}
		[ "$late_options" != "$how" ] || late_options=
		late soon python3 later.py 0 "${how##* }"
		late_options=
		lost=$(sed -n 's/.*lost: \([0-9]*\) mmap or comm.*/\1/p' log)
		is "$(grep -c ';\[unknown\];' soon.folded)" "${lost:-0}" \
			"$how: code loaded just before the end has names, or its mapping is counted as lost" ||
			diag "$(cat log soon.folded)"
	done
	late early python3 later.py 0 early
	unlike "$(cat log)" 'mmap or comm events' \
		"code that was generated before cuInit has a mapping, and no mapping is lost" ||
		diag "$(cat log early.folded)"
else
	skip "libraries that are loaded later" "no python3"
fi
if [ -n "${XPU_TOOLS_SAN:-}" ]; then
	skip "a process without /proc" "the sanitizer needs /proc"
elif unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # in the other shell
	late hidden unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" -n 100' "$exact"
	is $? 125 "a process without /proc has ended: --strict fails" || diag "$(cat log)"
	like "$(cat log)" 'lost: 1 mmap or comm events' \
		"a process without /proc has ended: its mappings are counted as lost"
else
	skip "a process without /proc" "no mount namespace"
fi

# ---- xpuload is stopped

# stopped NAME BEFORE: stops xpuload after BEFORE seconds; the target makes 1000 launches, then 2000
stopped() {
	# shellcheck disable=SC2016 # in the other shell
	"$XPULOAD" --strict -F 1 --transport shm -o "s$1.data" sh -c \
		'"$EXACT" -t 1 -s 2 -n 1000; sleep 0.5; "$EXACT" -t 1 -s 2 -n 2000; sleep 0.5' \
		>/dev/null 2>"s$1.log" &
	stopped_pid=$!
	sleep "$2"
	kill -STOP $stopped_pid
	sleep "$stop_s"
	kill -CONT $stopped_pid
	wait $stopped_pid
	echo "$? $(account "s$1.log")" >"s$1.account"
}

# The target begins with these commands: it writes xpuload's pid to a file, and stops xpuload.
# shellcheck disable=SC2016 # in the other shell
stop='echo $PPID >stopped; kill -STOP $PPID'

go_on() {		# go_on FILE: waits for FILE, continues xpuload, and returns its status
	wait_for test -s "$1"
	kill -CONT "$(cat stopped)"
	wait $!
}

stopped first 0.4
is "$(cat sfirst.account)" "0 3000 0 0" \
	"xpuload is stopped while a process begins and ends: all launches are recorded" ||
	diag "$(cat sfirst.log)"
n=0
while [ $n -lt "$stops" ]; do
	n=$((n + 1))
	time=$(awk -v seed="$n$$" 'BEGIN { srand(seed); printf "%.3f\n", rand() * 1.5 }')
	echo "$time" >"s$n.time"
	stopped "$n" "$time" &
	[ $((n % 20)) != 0 ] || wait
done
wait
n=0
while [ $n -lt "$stops" ]; do
	n=$((n + 1))
	is "$(cat "s$n.account")" "0 3000 0 0" \
		"stopped for $stop_s s after $(cat \
			"s$n.time") s: all launches are recorded" ||
		diag "$(cat "s$n.log")"
done

# Two images of one process end, one after the other, before xpuload reads anything about the first
# image.
cat >execs.sh <<-'END'
	"$EXACT" -n 100
	exec sh -c '"$EXACT" -n 200; sleep 0.1; exec "$EXACT" -n 400'
END
# shellcheck disable=SC2016 # in the other shell
"$XPULOAD" --strict --transport shm -o e.data sh \
	-c "$stop"'; sh execs.sh; echo over >execs' >out 2>log &
go_on execs
is $? 0 "programs that follow one another: nothing is lost"
exact e 700 "programs that follow one another: every launch is matched, under its own site"

# ---- the socket's queue is full

# narrow QUEUE COMMAND...: runs COMMAND where a socket's queue has room for QUEUE entries
narrow() {
	# shellcheck disable=SC2016 # in the other shell
	unshare -n sh -c 'echo "$0" >/proc/sys/net/core/somaxconn && exec "$@"' "$@"
}

if narrow 4 true 2>/dev/null; then
	narrow 4 "$XPULOAD" --strict --transport shm -F 1 -o q.data sh many.sh 60 200 >out 2>log
	is "$? $(account log)" "0 12000 0 0" \
		"60 processes, a queue of 4 entries: processes retry, and no launch is lost" ||
		diag "$(cat log)"

	# shellcheck disable=SC2016 # in the other shell
	narrow 4 "$XPULOAD" --strict --transport shm -F 1 -o q.data sh -c \
		"$stop"'; sh many.sh 30 200; echo over >over' >out 2>log &
	go_on over
	is $? 125 "the socket's queue is full until the processes have ended: --strict fails"
	# shellcheck disable=SC2046 # words
	set -- $(account log)
	diag "recorded $1, lost $2 of $3 processes"
	is "$(($1 + $2)) $((200 * $3))" "6000 $2" \
		"the socket's queue is full: each launch is recorded or counted, and each process is counted"
	like "$(cat log)" "$3 processes used CUDA, could not reach xpuload, and are not recorded" \
		"the socket's queue is full: a message counts the processes that are not recorded"

	# A killed process cannot report its launches. xpuload counts the launches that the process
	# made until shortly before its end.
	# shellcheck disable=SC2016 # in the other shell
	narrow 1 "$XPULOAD" --strict --transport shm -F 1 -o q.data sh -c \
		"$stop"'; sh many.sh 2 200; "$0" -n 500 killed; echo over >killed' \
		"$XPU_BUILD/workload/ends" >out 2>log &
	go_on killed
	like "$? $(account log)" '^125 400 [0-9]+ 1$' \
		"a process that is killed before it could connect is counted" ||
		diag "$(cat log)"
else
	skip "the socket's queue is full" "no network namespace"
fi

# File descriptors in flight count against the user's limit, like open files.
# shellcheck disable=SC2016 # in the other shell
bare sh -c 'ulimit -Sn 20; exec "$@"' sh "$inst" --strict --transport shm -F 1 -o f.data sh -c \
	"$stop"'; sh many.sh 40 200; echo over >over' >out 2>log &
cd home && go_on over; cd ..
# shellcheck disable=SC2046 # words
set -- $(account log)
diag "recorded $1, lost $2 of $3 processes"
is "$(($1 + $2))" 8000 \
	"too many descriptors in flight: each launch is recorded or counted" || diag "$(cat log)"

# With a file size limit, a process's memory outlives the process only if xpuload has taken the
# memory before.
cat >limited.sh <<-'END'
	ulimit -f 1
	sh many.sh "$@"
END
"$XPULOAD" --strict --transport shm -F 1 -o l.data sh limited.sh 60 200 >out 2>log
is "$? $(account log)" "0 12000 0 0" "files of at most one block, 60 processes at once: nothing is lost" ||
	diag "$(cat log)"
# shellcheck disable=SC2016 # in the other shell
"$XPULOAD" --strict --transport shm -F 1 -o l.data sh -c \
	"$stop"'; sh limited.sh 10 200; echo over >limited' >out 2>log &
go_on limited
is "$? $(account log)" "125 0 2000 10" \
	"file limit of one block, processes end while xpuload is stopped: each launch is counted" ||
	diag "$(cat log)"

# ---- memory

# rss PID: prints the resident size of the shared memory, in KiB
rss() {
	awk '/^[0-9a-f]+-/ { ours = /memfd:xpushim/ } ours && $1 == "Rss:" { n += $2 }
		END { print n + 0 }' \
		"/proc/$1/smaps"
}

start used "$XPULOAD" --transport shm --gpu-only -o used.data "$live" -t 2 -s 1800
ask used "burst 100" >/dev/null
pid=$(pgrep -P "$used_pid" -x live)
small=$(rss "$pid")
ask used "burst 2000000" >/dev/null
large=$(rss "$pid")
diag "after 200 launches $small KiB, after 4000200 $large KiB"
[ "$small" -gt 0 ] && [ "$small" -lt 1024 ]
ok $? "each process's ring takes memory only as it is used"
[ "$large" -gt "$small" ] && [ "$large" -lt 40000 ]
ok $? "memory of many rings stays below a bound"
finish used
done_testing
