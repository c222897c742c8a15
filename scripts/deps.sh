#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# deps.sh [PACKAGE...]
#
# Installs the Debian packages that building and testing need, and each named PACKAGE, unless they
# are installed. Without root or apt it prints the missing packages and exits with 0: the build may
# succeed.

packages="gcc g++ make pkg-config clang bpftool libbpf-dev libelf-dev libdw-dev zlib1g-dev
	binutils-dev libiberty-dev uthash-dev liblzma-dev libsqlite3-dev libzstd-dev libc6-dev
	libclang-rt-dev perl libdevel-nytprof-perl libcap2-bin time procps gdb libc6-dbg xz-utils
	libprotobuf-c-dev protobuf-c-compiler protobuf-compiler python3 python3-protobuf
	python3-yaml musl-tools libcurl4-openssl-dev opencl-headers ocl-icd-opencl-dev
	pocl-opencl-icd"
# The tools of make lint, as far as the distribution has them.
lint="clang-format cppcheck shellcheck mandoc"

# absent PACKAGE...: prints the packages that are not installed
absent() {
	for p; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' ||
			printf ' %s' "$p"
	done
}
# shellcheck disable=SC2086 # lists
missing=$(absent $packages "$@")
# shellcheck disable=SC2086
wished=$(absent $lint)
[ -n "$missing$wished" ] || exit 0

if ! command -v apt-get >/dev/null; then
	[ -z "$missing" ] ||
		echo "deps: not a Debian system; the build needs what these packages" \
			"hold:$missing" >&2
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	[ -z "$missing" ] || echo "deps: missing packages; as root: apt-get install$missing" >&2
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# Installs packages. Fetches the package lists, which may be old or missing, only if the first try
# fails.
get() {
	apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
		{ apt-get update -qq &&
		apt-get install -y -qq --no-install-recommends "$@"; } >/dev/null
}
echo "deps: installing$missing$wished" >&2
# shellcheck disable=SC2086
get $missing $wished 2>/dev/null && exit 0
# shellcheck disable=SC2086
[ -z "$missing" ] || get $missing || { echo "deps: apt-get could not install$missing" >&2; exit 1; }
[ -z "$wished" ] || echo "deps: apt-get could not install$wished: make lint does without" >&2
