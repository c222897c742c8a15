#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Boots Debian's kernel in qemu, records programs there with BPF and CPU samples, and puts the shim
# into running programs, as root and as the programs' user, with each value of
# kernel.yama.ptrace_scope. Needs Debian on x86-64 with qemu-system-x86, busybox-static and cpio;
# fetches the kernel, unless KERNEL= names the image of another one. SYSTEM_SECONDS= limits the run.
. "$XPU_SRC/test/lib/tap.sh"
for tool in qemu-system-x86_64 busybox cpio setpriv dpkg-deb; do
	command -v $tool >/dev/null || skip_all "$tool is missing"
done
if [ -z "${KERNEL:-}" ]; then
	image=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends/ { print $2 }')
	apt-get download -qq -o APT::Sandbox::User=root "$image" >download.log 2>&1 ||
		skip_all "Debian's kernel cannot be fetched: $(cat download.log)"
	dpkg-deb -x ./*.deb kernel
	KERNEL=$(echo kernel/boot/vmlinuz-*)
fi

mkdir -p root/build/workload root/bin root/tmp
# install FILE DIR: copies a program or library, and the libraries that it needs, to their places
install() {
	cp -L "$1" "root/$2"
	ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r lib; do
		case $lib in
		"$XPU_BUILD"/*) ;;
		*)	mkdir -p "root$(dirname "$lib")" && cp -Ln "$lib" "root$lib" ;;
		esac
	done
}
cp -a "$XPU_BUILD/sim" root/build
install "$XPU_BUILD/xpuload" build
install "$XPU_BUILD/xpumerge" build
install "$XPU_BUILD/libxpushim.so" build
install "$XPU_BUILD/workload/live" build/workload
install "$XPU_BUILD/workload/exact" build/workload
install "$(command -v setpriv)" build
# The shim loads one of these libraries to see how the dynamic loader's counters behave: see
# generation.c.
libc=$(ldd "$XPU_BUILD/xpuload" | awk '$1 == "libc.so.6" { print $3 }')
cp -L "$(dirname "$libc")/libanl.so.1" "$(dirname "$libc")/libutil.so.1" "root$(dirname "$libc")"
cp "$(command -v busybox)" root/bin
chmod 1777 root/tmp

# The first process of the system. A case prints "case SCOPE USER: status, message, summary".
cat >root/init <<'EOF'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/build:/bin LD_LIBRARY_PATH=/build/sim
mkdir -p /proc /sys /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs tracefs /sys/kernel/tracing
ip link set lo up
cd /tmp

# wait_line FILE PATTERN PID: waits at most a minute until the file has a line with the pattern.
# Fails if the process ends before.
wait_line() {
	i=0
	until grep -aqs "$2" "$1"; do
		i=$((i + 1))
		[ $i -lt 600 ] && [ -d "/proc/$3" ] || return 1
		sleep 0.1
	done
}

# one_case SCOPE UID: a program of user 1000; UID attaches xpuload to the program
one_case() {
	dir=/tmp/$1.$2
	mkdir $dir && chmod 777 $dir && cd $dir
	mkfifo cmd && chmod 666 cmd
	/build/setpriv --reuid 1000 --regid 1000 --clear-groups /build/workload/live -s 600 <>cmd >out &
	pid=$!
	wait_line out ready $pid
	/build/setpriv --reuid $2 --regid $2 --clear-groups xpuload -z 0 -p $pid -o x.data 2>log &
	load=$!
	if wait_line x.data cuLaunchKernel $load; then
		echo "burst 1000" 1<>cmd
		wait_line out 'burst 1000' $pid
		kill -INT $load
	fi
	wait $load
	echo "case $1 $2: status $?, $(tr '\n' ' ' <log)"
	echo "burst 10" 1<>cmd
	wait_line out 'burst 10$' $pid && echo "goes on $1 $2"
	[ ! -s x.data ] || echo "merged $1 $2: $(xpumerge x.data -o x.folded 2>&1 | tr '\n' ' ')"
	kill $pid
	cd /tmp
}
echo "system $(uname -sr)"
xpuload --off-cpu -F 199 -o x.data /build/workload/exact -t 4 -s 2 -n 10000 2>&1
echo "recorded: status $?"
echo "samples: $(xpumerge x.data -o x.folded 2>&1 | tr '\n' ' ')"
for scope in 0 1 2 3; do
	echo $scope >/proc/sys/kernel/yama/ptrace_scope
	one_case $scope 1000
	one_case $scope 0
done
sync
poweroff -f
EOF
chmod 755 root/init
(cd root && find . | cpio -o -H newc --quiet | gzip -1) >initrd
timeout "${SYSTEM_SECONDS:-900}" qemu-system-x86_64 -cpu max -smp 2 -m 2048 -nographic -no-reboot \
	-net none -kernel "$KERNEL" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1' </dev/null >console 2>&1
tr -d '\r' <console >lines
diag "$(grep '^system' lines)"

line=$(grep '^samples: ' lines)
like "$line" 'launches 10000 matched 10000 unmatched 0 lost 0' \
	"Debian's kernel: every launch is recorded" || diag "$(cat lines)"
like "$(grep 'launches from' lines)" ' [1-9][0-9]* CPU samples; through BPF; .* lost 0' \
	"Debian's kernel: CPU samples are recorded by BPF"
for scope in 0 1 2; do
	like "$(grep "^merged $scope 0: " lines)" 'launches 1003 matched 1003 unmatched 0 lost 0' \
		"Yama $scope, root: every launch since the attach is recorded"
done
for who in 1000 0; do
	like "$(grep "^case 3 $who: " lines)" \
		'status 125, .*cannot be put into it: kernel.yama.ptrace_scope is 3: nobody may trace' \
		"Yama 3, user $who: the shim is not put into the program, and a message says why"
done
for scope in 1 2; do
	like "$(grep "^case $scope 1000: " lines)" \
		"status 125, .*kernel.yama.ptrace_scope is $scope: only root may trace a process" \
		"Yama $scope, the program's user: a message says why the shim is not put into it"
done
is "$(grep -c '^goes on' lines)" 8 "every program goes on" || diag "$(cat lines)"
done_testing
