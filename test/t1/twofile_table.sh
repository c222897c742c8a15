#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings in two files, with right matches that are known. In each row, at most one in 1000
# certain matches is wrong. Where stacks name their kernels, nine out of ten launches have the right
# match.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/pairs_checks.sh"

row() {			# row NAMED KEYS RIGHT WRONG UNCERTAIN NONE
	[ $(($4 * 1000)) -le $(($3 + $4)) ] && [ $(($3 + $4 + $5 + $6)) -gt 0 ] &&
		{ [ "$1" = 0 ] || [ $(($3 * 10)) -ge $((($3 + $4 + $5) * 9)) ]; }
	ok $? \
		"$2: at most 1 in 1000 matches is wrong, enough are right: right $3 wrong $4 uncertain $5 none $6"
}
pairs_table

# Some launches can be matched without names.
row() {
	[ $(($4 * 1000)) -le $(($3 + $4)) ] && [ $(($3 * 10)) -ge $((($3 + $5) * 9)) ]
	ok $? "$2: enough matches are right without names: right $3 wrong $4 uncertain $5 none $6"
}
pairs 0 "gap=0.3 work=0.2 burst=200 pause=1000"
pairs 0 "gap=0.3 work=0.2 burst=200 pause=1000 lost=0.01"
pairs 0 "work=30 shape=exp lost=0.01 lost_calls=0.01 nr=8000"
pairs 0 "threads=8 work=60 shape=exp tids=other"

# ---- missing information is reported

row() {
	:
}
pairs 0 "threads=8 gap=0.3 work=0.2 lost=0.01 tids=pid"
like "$(cat pairs.log)" "have the process's id in place of the thread's" \
	"no thread ids: a message says that they are missing"
like "$(cat pairs.log)" "bpf_get_current_pid_tgid\(\)" \
	"no thread ids: a message says how to get them"
like "$(cat pairs.log)" "no stack names the kernel" \
	"no kernel names: a message says that no stack names a kernel"
pairs 1 "threads=8 gap=0.3 work=0.2 lost=0.01 names=nvcc"
unlike "$(cat pairs.log)" "in place of|names the kernel" \
	"with thread ids and kernel names: no message"
"$XPUMERGE" --cpu cpu.txt --gpu gpu.json -f folded --summary >out 2>log
like "$(cat log)" "^  30 of 30 call paths name the kernel that they launch$" \
	"the summary says how many paths name their kernel"
done_testing
