#!/bin/sh
# SPDX-License-Identifier: MIT
#
# debian.sh SUITE [COMMAND...]: for example debian.sh trixie; or debian.sh bookworm make check
# T=test/t3/odd_programs.sh
#
# Runs COMMAND, by default make check, on this kernel in a fresh minimal Debian, as root. ROOT=
# names the directory where that Debian is or will be (default build/debian-SUITE); MIRROR=
# names a mirror for debootstrap. Inside, the source tree is /src, read-only, and O is /build.
#
# All mounts are in a separate mount namespace, so that none is left behind.
set -e

fail() {
	echo "debian.sh: $*" >&2
	exit 1
}

suite=$1
[ -n "$suite" ] || fail "expected a SUITE, such as bookworm or trixie"
shift
src=$(cd "$(dirname "$0")/.." && pwd)
root=${ROOT:-$src/build/debian-$suite}

if [ -z "$XPU_IN_NAMESPACE" ]; then
	[ "$(id -u)" = 0 ] || fail "this needs root"
	if [ ! -e "$root/etc/debian_version" ]; then
		command -v debootstrap >/dev/null ||
			fail "debootstrap is missing: apt-get install debootstrap"
		mkdir -p "$root"
		debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"}
	fi
	exec env XPU_IN_NAMESPACE=1 ROOT="$root" CUDA="$(sh "$src/scripts/find-cupti.sh" || true)" \
		unshare --mount sh "$0" "$suite" "$@"
fi

# The root must be a mount point, because tests make namespaces in it.
mount --bind "$root" "$root"
cd "$root"
for dir in proc sys dev; do
	mount --rbind /$dir $dir
done
mkdir -p src build opt/cuda/include opt/cuda/extras/CUPTI/include old-root
mount --bind "$src" src
mount -o remount,bind,ro src
to=opt/cuda/include
for dir in $CUDA; do
	[ "${dir#/}" != "$dir" ] || continue	# skips the word -isystem
	mount --bind "$dir" $to
	to=opt/cuda/extras/CUPTI/include
done
cp /etc/resolv.conf /etc/hosts etc
pivot_root . old-root
cd /src
umount -l /old-root
command -v make >/dev/null || { apt-get update -qq &&
	apt-get install -y -qq --no-install-recommends make; }
export O=/build LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
[ $# != 0 ] || set -- make check
exec env -u XPU_IN_NAMESPACE "$@"
