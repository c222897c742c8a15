#!/bin/sh
# SPDX-License-Identifier: MIT
# bash's completion of both command lines offers all options, their values, and files.
. "$XPU_SRC/test/lib/tap.sh"
need bash

# completed LINE: prints the completions that bash offers for LINE's last word, sorted, on one line.
cat >complete.bash <<'END'
. "$1"
COMP_LINE=$2
# As in readline, "=" is a separate word.
read -ra COMP_WORDS <<<"${2//=/ = }"
[[ $2 != *' ' ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"_${COMP_WORDS[0]}"
printf '%s\n' "${COMPREPLY[@]}" | sort -u
END
completed() {
	bash complete.bash "$XPU_BUILD/completion/${1%% *}" "$1" | tr '\n' ' ' | sed 's/ $//'
}
offers() {		# offers LINE EXPECTED
	is "$(completed "$1")" "$2" "$1"
}

for program in xpuload xpumerge; do
	bash -n "$XPU_BUILD/completion/$program"
	ok $? "$program: bash loads its completion"
	"$XPU_BUILD/$program" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u >help
	completed "$program --" | tr ' ' '\n' >offered
	is "$(cat offered)" "$(cat help)" "$program: completion offers all options of --help"
	# The program accepts each option that completion offers.
	while read -r option; do
		"$XPU_BUILD/$program" "$option=" </dev/null 2>&1 | grep -q 'there is no option' &&
			echo "$option"
	done <offered >wrong
	is "$(cat wrong)" "" "$program: the program accepts all options that completion offers"
done

echo >a.data
echo >"b c.data"
mkdir -p dir/below
offers "xpuload --gp" "--gpu-metrics --gpu-only"
offers "xpuload --probe " "launch path"
offers "xpuload --probe=l" "launch"
offers "xpuload --python o" "off on only"
offers "xpuload --freq " ""
offers "xpuload -o a" "a.data"
offers "xpuload -o b" "b c.data"
offers "xpuload -q --freq 99 ./app a" "a.data"
like "$(completed "xpuload --pid ")" '(^| )1( |$)' "xpuload --pid: completion offers processes"
like "$(completed "xpuload -q x")" '(^| )xargs( |$)' "xpuload: completion offers a COMMAND"
offers "xpumerge --table api" "api_calls"
offers "xpumerge -f p" "parquet perf pftrace pprof"
offers "xpumerge --by pid,st" "pid,stream"
offers "xpumerge --symfs " "dir"
offers "xpumerge d" "diff dir dump"
offers "xpumerge a.data b" "b c.data"
done_testing
