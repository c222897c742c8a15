# SPDX-License-Identifier: GPL-3.0-or-later
# lib.sh - the common beginning of xpumerge's benchmarks; to be sourced. Each benchmark runs in its
# own directory, which is removed at the end. $time is GNU time.
# shellcheck shell=sh
set -u
: "${XPU_BUILD:?run it as: make bench}"
time=/usr/bin/time
[ -x $time ] || { echo "$0: $time is missing (Debian: time)" >&2; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
