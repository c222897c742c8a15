#!/bin/sh
# SPDX-License-Identifier: MIT
# --help, the manual page and the program have the same set of options; and the manual pages list
# every loss counter.
. "$XPU_SRC/test/lib/tap.sh"

for program in xpuload xpumerge; do
	binary=$XPU_BUILD/$program page=$XPU_BUILD/doc/$program.1
	"$binary" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u >help
	[ "$(wc -l <help)" -gt 15 ]
	ok $? "$program: --help lists $(wc -l <help) options"

	# An empty argument, or an argument for a flag, makes the program print an error and exit.
	: >taken
	while read -r option; do
		"$binary" "$option=" </dev/null 2>&1 | grep -q 'there is no option' ||
			echo "$option" >>taken
	done <help
	cmp -s help taken
	ok $? "$program: it accepts all listed options" || diag "$(diff help taken)"

	# The error names the options with this prefix, or the option whose argument is missing.
	for letter in a b c d e f g h i j k l m n o p q r s t u v w x y z; do
		"$binary" "--$letter" </dev/null 2>&1
	done | grep -oE -- '--[a-z][a-z-]+' | sort -u >known
	[ "$(wc -l <known)" -gt 15 ]
	ok $? "$program: $(wc -l <known) options are found by their first letter"
	is "$(comm -13 help known)" "" "$program: --help lists all options that errors suggest"

	grep '^\.It Fl' "$page" | grep -oE 'Fl Fl [a-z][a-z-]+' | sed 's/Fl Fl /--/' | sort -u >man
	cmp -s help man
	ok $? "$program: the manual page has the options of --help" || diag "$(diff help man)"
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | grep -oE 'Fl Fl [a-z][a-z-]+' |
		sed 's/Fl Fl /--/' | sort -u >synopsis
	is "$(comm -13 help synopsis)" "" \
		"$program: --help lists all options of the manual page's synopsis"

	# The table that completion uses, with the possible words of each argument.
	"$binary" --list-options >table
	is $? 0 "$program --list-options: exit status 0"
	awk '$1 == "option" && $2 != "-" { print "--" $2 }' table | sort -u >listed
	cmp -s help listed
	ok $? "$program: --list-options lists the options of --help" || diag "$(diff help listed)"
	awk '$1 == "option" { for (i = 5; i <= NF; i++) print $2, $i }' table >words
	[ "$(wc -l <words)" -ge 9 ]
	ok $? "$program: $(wc -l <words) words of its options are found"
	is "$(while read -r option word; do
		grep -qE "^([.]It )?[.]?(.* )?(Cm|Li|Fl)( .*)?[ ,]$word( |,|\$)" "$page" ||
			echo "--$option $word"
	done <words)" "" "$program: the manual page has all words of options"
	if command -v mandoc >/dev/null; then
		is "$(mandoc -T lint -W warning "$page" 2>&1)" "" \
			"$program: mandoc finds no fault in the manual page"
	else
		skip "$program: mandoc finds no fault in the manual page" "no mandoc"
	fi

	"$binary" --help | sed -n 's/^ *-\([A-Za-z]\), --.*/\1/p' | sort -u >help
	grep '^\.It Fl' "$page" | grep -oE 'Fl [A-Za-z]( Ar [a-z .]*)? ,' | cut -c4 | sort -u >man
	[ -s help ] && cmp -s help man
	ok $? "$program: --help and the manual page have the same option letters" ||
		diag "$(diff help man)"
done

undocumented() {	# undocumented PAGE: prints the lines of stdin that have no item in the page
	tr '\n' ' ' <"$XPU_BUILD/doc/$1" >page
	while read -r line; do
		grep -qF -- ".It ${2}$line" page || echo "$line"
	done
}

grep -oE '"[A-Za-z][^"]{14,}"' "$XPU_SRC/merge/model/loss.c" | tr -d '"' | grep -v '^struct' |
	sed 's/: under $//' >counters
[ "$(wc -l <counters)" -gt 30 ]
ok $? "xpumerge has $(wc -l <counters) counters"
is "$(grep -vx -e 'their launch' -e 'frames without a function name' counters |
	undocumented xpumerge.1)" "" "xpumerge: the manual page has all counters"
sed -n \
	's/.*\] = "\(.*\)",$/\1/p; s/.*add_loss(.*, "\(.*\)");$/\1/p; s/^[\t ]* "\(.*\)");$/\1/p; s/.*, "\(.*\)");$/\1/p' \
	"$XPU_SRC/loader/report.c" | sort -u | grep -v -e % -e '^no CUDA' -e '"' >counters
[ "$(wc -l <counters)" -gt 20 ]
ok $? "xpuload has $(wc -l <counters) counters"
is "$(undocumented xpuload.1 'N ' <counters)" "" "xpuload: the manual page has all counters"

# Compares the limits in the code with the manual page's list of limits.
bounds=$XPU_SRC/loader/base/bounds.h
sed -n 's/.*row([A-Z_]*,[^0-9]*\(1 << [0-9]*\),[^0-9]*\(1 << [0-9]*\),.*/\1 \2/p' "$bounds" |
	while read -r a b c d e f; do
		# shellcheck disable=SC1102,SC2086 # the operator is in a variable, too
		echo "$(($a $b $c)) a process, $(($d $e $f)) in all"
	done | sort -u >limits
[ "$(wc -l <limits)" -gt 2 ]
ok $? "xpuload has $(wc -l <limits) limits of tables"
grep -oE '[0-9]+ a process, [0-9]+ in all' "$XPU_BUILD/doc/xpuload.1" | grep -v '^32 ' |
	sort -u >man
cmp -s limits man
ok $? "xpuload: the manual page lists the limits of all tables" || diag "$(diff limits man)"
limit() {
	sed -n "s/^#define LIMIT_$1[\t ][\t ]*//p" "$bounds"
}
is "$(limit CHAIN_BYTES) $(limit CODE_BYTES) $(limit MESSAGES) $(limit ALL_MESSAGES) $(limit \
	BLAMED)" "(1ull << 30) (1ull << 28) 32 64 8" \
	"xpuload: the manual page has the limits of chains, code and messages"
is "$(limit KEPT_FILE) $(limit KEPT_BYTES) $(limit KEPT_FILES) $(limit MAPPED_FILES) $(limit \
	KEEPING)" \
	"(2ull << 30) (8ull << 30) 4096 (1 << 16) 256" \
	"xpuload: the manual page has the limits of kept files"
done_testing
