#!/bin/sh
# SPDX-License-Identifier: MIT
#
# system.sh BUILD SYSROOT [THREADS LAUNCHES]
#
# Boots Debian's arm64 kernel in qemu, with an initial file system of this build (of ARCH=aarch64)
# and the libraries that it needs. There init.sh records the simulated device with real BPF and real
# uprobes, and leaves one of its recordings in BUILD/system/x.data. Needs neither root nor KVM.
# Prints the system's output. The exit status is 0 if every recording is exact. SYSTEM_SECONDS=
# limits the run.

build=$1 sysroot=$2 threads=${3:-8} launches=${4:-4000}
here=$(cd "$(dirname "$0")" && pwd)
root=$build/system/root
rm -rf "$build/system" && mkdir -p "$root/build/workload" "$root/bin" "$root/lib" "$root/usr/bin" ||
	exit 1

# needs FILE: copies the libraries that a program or library needs, directly or indirectly
needs() {
	for lib in $(readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[ ! -e "$root/lib/$lib" ] && [ ! -e "$root/build/sim/$lib" ] || continue
		for dir in lib usr/lib; do
			file=$sysroot/$dir/aarch64-linux-gnu/$lib
			[ -e "$file" ] || continue
			cp -L "$file" "$root/lib/$lib"
			needs "$file"
			break
		done
	done
}
cp -L "$sysroot/lib/ld-linux-aarch64.so.1" "$root/lib" || exit 1
cp "$sysroot/bin/busybox" "$root/bin" || exit 1
cp -a "$build/sim" "$build/xpuload" "$build/xpumerge" "$build/libxpushim.so" "$root/build" || exit 1
cp "$build/workload/exact" "$build/workload/cpu" "$root/build/workload" || exit 1
cp "$sysroot/usr/bin/perl" "$root/usr/bin" || exit 1
cp "$here/../lib/verdict.sh" "$root/build" || exit 1
for file in "$root"/build/* "$root"/build/*/* "$root/usr/bin/perl"; do
	[ ! -f "$file" ] || needs "$file"
done
# The shim loads one of these libraries to see how the dynamic loader's counters behave: see
# generation.c.
cp -L "$sysroot/lib/aarch64-linux-gnu/libanl.so.1" "$sysroot/lib/aarch64-linux-gnu/libutil.so.1" \
	"$root/lib"
ln -s . "$root/lib/aarch64-linux-gnu"
echo "$threads $launches" >"$root/build/size"
install -m 755 "$here/init.sh" "$root/init" || exit 1
ln -s busybox "$root/bin/sh"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$build/system/initrd" || exit 1

timeout "${SYSTEM_SECONDS:-1500}" qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 \
	-m 2048 -nographic -no-reboot -net none -kernel "$(echo "$sysroot"/boot/vmlinuz-*)" \
	-initrd "$build/system/initrd" -append 'console=ttyAMA0 quiet panic=-1' </dev/null \
	>"$build/system/console.log" 2>&1
tr -d '\r' <"$build/system/console.log" | grep -a '^system: ' | sed 's/^system: //'
tr -d '\r' <"$build/system/console.log" | sed -n '/^data: begin/,/^data: end/p' | grep -v '^data:' |
	base64 -d >"$build/system/x.data"
good="launches $launches matched $launches wrong 0 unmatched 0 lost 0"
nr=$(grep -ac "^system: exact.*: $good" "$build/system/console.log")
if [ "$nr" != 3 ]; then
	echo "$nr of 3 recordings were exact; $build/system/console.log has all that the system" \
		"said" >&2
	exit 1
fi
