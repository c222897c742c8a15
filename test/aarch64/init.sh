#!/bin/sh
# SPDX-License-Identifier: MIT
# The first process of the system that system.sh starts. It records with real BPF, merges, compares,
# and switches the machine off.
/bin/busybox mkdir -p /proc /sys /dev /tmp /bin /sbin /usr/bin
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/build HOME=/tmp XPU_BUILD=/build
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
ip link set lo up
cd /tmp || exit 1
read -r threads launches </build/size
say() { echo "system: $*"; }

say "$(uname -srm), $(nproc) CPUs"
xpuload --check 2>&1 | sed 's/^/system: check: /'
export LD_LIBRARY_PATH=/build/sim
# Records with the shim's unwinder, then with frame pointers, then with one probe hit for each
# launch.
for how in "" "--call-graph fp" "--probe launch"; do
	# shellcheck disable=SC2086 # options
	xpuload $how -o x.data /build/workload/exact -t "$threads" -s 4 -n "$launches" 2>load.log
	say "xpuload $how: status $?"
	xpumerge -i x.data -f folded --unit count -o x.folded 2>merge.log
	say "xpumerge: status $?"
	say "exact${how:+ $how}: $(sh /build/verdict.sh x.folded merge.log)"
done
grep -v '^$' load.log merge.log | sed 's/^/system: /' | tail -n 20

# Sends the last recording through the console, to be read on another machine.
echo "data: begin"
base64 x.data
echo "data: end"

# CPU samples: registers and stacks that xpumerge unwinds.
xpuload --cpu-only --call-graph dwarf -F 199 -o cpu.data /build/workload/cpu 500 user \
	deep=20 2>load.log >cpu.out
say "samples: status $?"
xpumerge -i cpu.data -f folded -o cpu.folded 2>merge.log
say "samples merged: status $?"
sort -t' ' -k2 cpu.folded | awk '{ print length($0), $0 }' | sort -rn | head -n 4 |
	sed 's/^/system: sample: /'
cat load.log merge.log | sed 's/^/system: /' | tail -n 20
say "done"
sync
poweroff -f
