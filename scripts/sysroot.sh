#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# sysroot.sh ARCH DIR BTF [PACKAGE...]
#
# Sets up cross-building for another machine, aarch64. Installs Debian's cross-compiler and
# emulators. Puts Debian's libraries for ARCH, a Linux kernel and each PACKAGE below DIR, and the
# kernel's types into the file BTF. The libraries do not become packages of this system, which keeps
# its one architecture: apt has a separate state in DIR.apt. MIRROR= names another mirror.

arch=$1 dir=$2 btf=$3
shift 3
suite=bookworm
mirror=${MIRROR:-http://deb.debian.org/debian}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ "$arch" = aarch64 ] || { echo "sysroot: $arch is not an architecture to build for" >&2; exit 1; }
packages="libc6-dev libstdc++6 libbpf-dev libelf-dev libdw-dev zlib1g-dev binutils-dev libiberty-dev
	uthash-dev liblzma-dev libsqlite3-dev libzstd-dev libprotobuf-c-dev
	libcurl4-openssl-dev libc6-dbg busybox-static perl-base
	python3-minimal libpython3.11-stdlib linux-image-arm64 $*"

sh "$(dirname "$0")/deps.sh" gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static \
	qemu-system-arm gdb-multiarch cpio || exit 1

mkdir -p "$dir" || exit 1
[ "$(cat "$dir.packages" 2>/dev/null)" != "$packages" ] || exit 0
echo "sysroot: fetching Debian's arm64 libraries into $dir" >&2
apt=$(realpath "$dir").apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/empty" || exit 1
echo "deb [signed-by=$keys] $mirror $suite main" >"$apt/sources.list"
: >"$apt/status"

# Runs apt without this system's packages, sources and architecture.
other_apt() {
	apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
		-o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" \
		-o Dir::State::extended_states="$apt/extended" \
		-o Dir::Cache::Archives="$apt/archives" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/empty" \
		-o APT::Sandbox::User=root "$@"
}
other_apt update && rm -f "$apt"/archives/*.deb || exit 1
# shellcheck disable=SC2086 # a list
other_apt install --download-only --no-install-recommends -y $packages >/dev/null || exit 1
for deb in "$apt"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" |
		tar -C "$dir" --no-same-owner --keep-directory-symlink --exclude='./lib/modules' \
			--exclude='./usr/share/doc' --exclude='./usr/share/man' \
			--exclude='./usr/share/locale' -xf - || exit 1
done
rm -f "$apt"/archives/*.deb
# Links to absolute names lead out of a sysroot.
find "$dir" -type l -lname '/*' | while read -r link; do
	ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$dir$(readlink "$link")")" \
		"$link"
done
python3 "$(dirname "$0")/btf-of-image.py" "$dir"/boot/vmlinuz-* >"$btf" || exit 1
printf '%s' "$packages" >"$dir.packages"
