#!/bin/sh
# SPDX-License-Identifier: MIT
# Isolation as in containers, made without a container runtime: namespaces, another root directory,
# no capabilities, a seccomp filter. Each row of the table in doc/setup.md is tested here.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf mounts
quiet_sanitizers
use_sim
family="$XPU_BUILD/workload/family"
confine="$XPU_BUILD/workload/confine"

says() {		# says OBSERVER: waits until xpuload has attached
	wait_for grep -qs 'Ctrl-C ends' "$1.log" || diag "$1 does not attach: $(cat "$1.log")"
}

# Does everything that a container runtime does to a program; the program's pids begin at 1.
mkdir -p root/proc root/tmp image
cp "$family" "$confine" "$XPU_SHIM" image
cp "$XPU_BUILD"/sim/*.so* image
cat >enter.sh <<'END'
for dir in /bin /sbin /lib /lib64 /usr /etc /dev; do
	[ -d $dir ] || continue
	mkdir -p root$dir && mount --rbind $dir root$dir || exit 99
done
mkdir -p root/image && mount --bind image root/image && mount -t proc proc root/proc || exit 99
LD_LIBRARY_PATH=/image exec chroot root "$@"
END
boxed() {		# boxed COMMAND...
	exec unshare -pf -m -n -u -i -C --propagation private \
		sh enter.sh setpriv --bounding-set -all --inh-caps -all --no-new-privs \
		/image/confine "$@"
}
inner_of() {		# inner_of PID: prints the pid of the program that unshare started
	pgrep -P "$1" | head -n 1
}

if ! (boxed true) >log 2>&1; then
	skip_all "no container can be made here: $(head -n 1 log)"
fi

# xpuload attaches from outside to a program that has no capabilities, runs under a system call
# filter, and has a copy of the shim in its image.
start box boxed env LD_PRELOAD=/image/libxpushim.so /image/family -w 2
inner=$(inner_of "$box_pid")
is "$(sed -n 's/^CapBnd:.//p; s/^Seccomp:.//p' "/proc/$inner/status" | tr '\n' ' ')" \
	"0000000000000000 2 " "the container has a system call filter and no capabilities"
attach outside -p "$inner"
says outside
like "$(cat outside.log)" 'attached to 3 processes' \
	"from outside, -p with the host's pid: xpuload attaches to the children, too"
ask box "burst 200" >/dev/null
ask box "churn 20 1" >/dev/null
leave outside
is $? 0 "from outside: exit status 0" || diag "$(cat outside.log)"
exact outside 420 \
	"from outside, with a copied shim: every launch is matched, under its own site"
xpuload -o none.data -p 1 2>log
unlike "$(cat log)" 'attached' "from outside, -p with the container's pid: xpuload does not attach"
finish box

# xpuload runs inside the container and keeps its capabilities: pids are the pids of the container's
# namespace.
cat >inside.sh <<'END'
. "$XPU_SRC/test/lib/live_checks.sh"
start child env LD_PRELOAD="$XPU_SHIM" "$XPU_BUILD/workload/family" -w 2
attach alone --no-children -p "$child_pid"
attach own -p 1
for observer in own alone; do
	wait_for grep -qs 'Ctrl-C ends' $observer.log
done
"$XPULOAD" -o none.data -p "$1" 2>stranger.log
ask child "burst 100" >/dev/null
leave alone
finish child
leave own
END
export XPULOAD XPU_SHIM
sleep 1800 &
stranger_pid=$!
unshare -pf -m --propagation unchanged --mount-proc sh inside.sh $stranger_pid >log 2>&1
kill $stranger_pid
like "$(cat alone.log)" 'attached to 1 process,' \
	"inside, -p with the container's pid: xpuload attaches only to this process" ||
	diag "$(cat log)"
exact own 200 "inside, -p 1: every launch in the container is matched, under its own site"
like "$(cat stranger.log)" ": No such process$" \
	"inside, the pid of a process outside: a message says that no such process exists"

# xpuload inside the container, with fewer privileges.
start plain env LD_PRELOAD="$XPU_SHIM" "$live" -s 1800
attached_by() {		# attached_by COMMAND...: prints its status and messages
	"$@" -o none.data -p "$plain_pid" --duration 0.1 >log 2>&1
	echo "$? $(cat log)"
}
like "$(attached_by "$confine" "$XPULOAD")" \
	'^125 xpuload: cannot [a-z]+ the BPF [a-z]+: Operation not permitted: ' \
	"inside, with a system call filter: refused"
is "$(grep -c '' log)" 1 "inside, with a system call filter: prints one line"
like "$(attached_by setpriv --bounding-set -bpf,-perfmon,-sys_admin "$XPULOAD")" \
	'^125 xpuload: cannot load the BPF programs: Operation not permitted: .*needs .*cap_bpf and cap_perfmon' \
		"inside, without cap_bpf: the message names the missing capability"
like "$(attached_by setpriv --bounding-set -sys_ptrace "$XPULOAD")" \
	"^125 xpuload: pid $plain_pid may not be recorded: root needs cap_sys_ptrace|^0 " \
	"inside, without cap_sys_ptrace: xpuload attaches, or says which capability it needs"
if unshare -Ur true 2>/dev/null; then
	like "$(attached_by unshare -Ur "$XPULOAD")" '^125 xpuload: ' \
		"inside a user namespace: refused"
	is "$(grep -c '' log)" 1 "inside a user namespace: prints one line"
else
	skip "inside a user namespace" "unshare -U is not allowed"
fi
finish plain
[ ! -e none.data ]
ok $? "failed attempts to attach leave no recording behind"

done_testing
