#!/bin/sh
# SPDX-License-Identifier: MIT
#
# emulate.sh SYSROOT COMMAND [ARG...]
#
# Runs COMMAND with binfmt_misc set up, so that the kernel runs aarch64 programs in qemu, with the
# libraries of SYSROOT. If this script runs as root on Linux 6.7 or later, a separate user namespace
# gets its own binfmt_misc, which the rest of the system does not notice. On older kernels, Debian's
# qemu-user-static sets up binfmt_misc, if binfmt-support is installed.

magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

if [ "$1" = --inside ]; then
	shift
	read -r _		# waits until the user ids are mapped
	mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
		printf '%s' ":xpu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" \
			>/proc/sys/fs/binfmt_misc/register ||
		{ echo "emulate.sh: the kernel does not run programs by qemu here (binfmt_misc)" \
		>&2; exit 1; }
	exec "$@" </dev/null
fi

# Python, too, is the aarch64 program.
bin=$(dirname "$1")/emulated
mkdir -p "$bin" && ln -sf "$1/usr/bin/python3.11" "$bin/python3" || exit 1
export QEMU_LD_PREFIX="$1" PATH="$bin:$PATH"
shift
[ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || exec "$@"
mkfifo "$bin/go.$$" || exit 1
unshare --user --mount sh "$0" --inside "$@" <"$bin/go.$$" &
exec 3>"$bin/go.$$"
rm "$bin/go.$$"
outside=$(readlink /proc/self/ns/user)
until [ "$(readlink /proc/$!/ns/user)" != "$outside" ]; do
	sleep 0.1
done
for map in uid_map gid_map; do
	echo "0 0 4294967295" >/proc/$!/$map || { kill $!; exit 1; }
done
echo >&3
wait $!
