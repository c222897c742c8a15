#!/bin/sh
# SPDX-License-Identifier: MIT
# For each call that starts device work, launches are recorded under the call's path and name, with
# their own device work.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
export XPU_SIM_DEVICES=2
merge_options="--graph launch --gpu-only"	# a graph's work is under its launch

# check NAME: tests each line "apis: SITE API KIND [BYTES]"; each call is made 10 times.
check() {
	xpumerge -i "$1.data" --gpu-only --graph launch -f folded --unit ns \
		-o "$1.ns.folded" 2>/dev/null
	sed -n 's/^apis: //p' "$1.out" >"$1.sites"
	while read -r site api kind bytes; do
		case $kind in
		kernel)	leaf="_Kernel\]kernel_$site" ;;
		set)	leaf='_Memset\]' ;;
		*)	leaf="_Memcpy\]$kind" ;;
		esac
		# Driver function names have suffixes such as _v2.
		like "$(grep ";site_$site;" "$1.folded" | sed 's/.*;\(site_\)/\1/')" \
			"^site_$site;([^;]*;)*(__)?$api(_v2)?(_pt[sd][sz])?;\[GPU[0-9]*$leaf 10$" \
			"$1: $site: 10 records of $kind, launched by $api"
		is "$(grep -c ";site_$site;" "$1.folded")" 1 "$1: $site has exactly one folded line"
	done <"$1.sites"
	is "$(wc -l <"$1.folded")" "$(wc -l <"$1.sites")" \
		"$1: every call path leads to one of the sites"
	# More bytes take longer: a copy under a wrong path would be out of order.
	for kind in HtoD\|DtoH\|DtoD\|PtoP set; do
		is "$(grep -E " ($kind) " "$1.sites" | sort -k4n | while read -r site rest; do
			sed -n "s/.*;site_$site;.* //p" "$1.ns.folded"
		done | tee order | sort -n >sorted; cmp sorted order 2>&1)" "" \
			"$1: the bytes of $kind are right for each path"
	done
}

xpuload -o auto.data "$XPU_BUILD/workload/apis" -n 10 >auto.out 2>auto.log
is $? 0 "a program that makes every kind of call: exit status 0"
sites=$(grep -c '^apis: ' auto.out)
is "$sites" 50 "the program makes all $sites calls"
exact auto $((10 * sites)) "every launch is matched, under its own site"
like "$(cat auto.log)" \
	"^xpuload: $((10 * sites)) launches .* $((10 * sites)) device records.* lost 0" \
	"each launch has one device record"
check auto

# The results are the same after attaching, and with frame pointers.
xpuload --call-graph fp -o fp.data "$XPU_BUILD/workload/apis" -n 10 >fp.out 2>fp.log
exact fp $((10 * sites)) "by frame pointers: every launch is matched, under its own site"
for name in auto fp; do
	sed 's/.*;\(site_[^;]*\);\(.*;\)*\([^;]*;[^;]*\)$/\1 \3/' $name.folded | sort >$name.what
done
cmp auto.what fp.what
ok $? "by frame pointers: each site has the same device work as by unwinding"

# Copies and memsets, counted in bytes.
if "$XPUMERGE" --help | grep -q bytes; then
	xpumerge -i auto.data -f folded --unit bytes -o bytes.folded 2>/dev/null
	failed=0
	while read -r site api kind bytes; do
		[ -n "$bytes" ] || continue
		[ "$(sed -n "s/.*;site_$site;.* //p" bytes.folded)" = $((10 * bytes)) ] ||
			failed=$((failed + 1))
	done <auto.sites
	is $failed 0 "--unit bytes: each site has its own bytes"
else
	skip "--unit bytes" "xpumerge has no --unit bytes"
fi

# Copies and memsets of 0 bytes make no device work, so xpuload expects no device record.
for only in '' --gpu-only; do
	# shellcheck disable=SC2086
	xpuload $only -o none.data "$XPU_BUILD/workload/apis" -n 10 -z >none.out 2>none.log
	xpumerge none.data -f folded --unit count -o none.folded 2>none.mlog
	kernels=$((10 * $(grep -c ' kernel$' none.out)))
	like "$(cat none.mlog)" "launches $kernels matched $kernels unmatched 0 lost 0" \
		"copies of 0 bytes $only: only kernels count as launches" || diag "$(cat none.mlog)"
	like "$(cat none.mlog)" ' [1-9][0-9]* copies and sets of no bytes: not among the launches' \
		"copies of 0 bytes $only: a message counts them separately"
done

done_testing
