#!/bin/sh
# SPDX-License-Identifier: MIT
# Simultaneous sessions, process trees, and the owners of files.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
quiet_sanitizers
use_sim
exact="$XPU_BUILD/workload/exact"

# Two sessions at once: neither records the other's launches.
"$XPULOAD" -o a.data "$exact" -t 4 -n 30000 >/dev/null 2>a.log &
pid=$!
xpuload -o b.data "$exact" -t 4 -n 20000 >/dev/null 2>b.log
wait $pid
like "$(cat a.log)" '^xpuload: 30000 launches .* 30000 device records, 1 process;.* lost 0' \
	"two xpuloads at once: the first records only its own launches"
like "$(cat b.log)" '^xpuload: 20000 launches .* 20000 device records, 1 process;.* lost 0' \
	"two xpuloads at once: the second records only its own launches"

# A process with the shim that belongs to no session.
LD_PRELOAD="$XPU_SHIM" "$exact" -t 2 -n 20000 >bystander.out 2>&1 &
pid=$!
xpuload -o c.data "$exact" -t 2 -n 5000 >/dev/null 2>c.log
wait $pid
is $? 0 "another program with the shim is unharmed"
like "$(cat c.log)" '^xpuload: 5000 launches ' \
	"launches of another program with the shim are not recorded"

# The whole tree: fork, exec, a shell in between.
xpuload -o d.data sh -c "'$exact' -t 2 -n 1000; '$exact' -t 2 -n 1000 & wait" >/dev/null 2>d.log
like "$(cat d.log)" '^xpuload: 2000 launches .* 2000 device records, 3 processes;.* lost 0' \
	"launches of child processes are recorded"

# Process images that have the same pid and the same correlation IDs.
xpuload -o e.data "$XPU_BUILD/workload/forks" >e.out 2>e.log
is $? 0 "fork and exec: exit status 0"
xpumerge -i e.data -f folded --unit count -o e.folded 2>merge.log
line=$("$XPU_SRC/test/lib/verdict.sh" e.folded merge.log)
diag "$line"
like "$line" 'launches ([0-9]+) matched \1 wrong 0 unmatched 0 lost 0' \
	"fork and exec: every launch is matched, under its own site"

# Under sudo, files belong to the user, if the user may create files there.
chmod 777 .
SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody xpuload -q -o f.data true 2>log
is "$(stat -c %u:%g f.data)" 65534:65534 "under sudo the recording belongs to the user"

# xpuload itself writes the merged result.
for suffix in folded html json txt; do
	xpuload -q -o "g.$suffix" "$exact" -t 2 -n 1000 >/dev/null 2>log
	is $? 0 "-o g.$suffix: exit status 0"
	[ -s "g.$suffix" ]
	ok $? "-o g.$suffix: the result is written"
done
is "$(ls g.*.data 2>/dev/null | wc -l)" 0 "-o g.folded, g.html and so on: no recording is left"
if [ -r /usr/share/perl5/Devel/NYTProf/flamegraph.pl ]; then
	xpuload -q -o g.svg "$exact" -t 2 -n 1000 >/dev/null 2>log
	is $? 0 "-o g.svg: exit status 0"
	is "$(grep -c '</svg>' g.svg)" 1 "-o g.svg: the file is complete"
	is "$(grep -c 'middle.*exact -t 2 -n 1000' g.svg)" 1 \
		"-o g.svg: the picture's title is the command"
	xpuload -q --gpu-only -o h.svg sh -c '"$0" -t 1 -n 10; : "<é>&
" "$1"' "$exact" "$(seq -s é 99)" >/dev/null 2>log
	is $? 0 "-o h.svg: exit status 0"
	python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("h.svg")' 2>log
	ok $? \
		"-o h.svg: the picture is valid XML for each command, even if its title is cut" ||
		diag "$(cat log)"
else
	skip "-o g.svg" "no flamegraph.pl"
fi

# With file capabilities, for an ordinary user: the target gets the complete environment.
setcap=$(command -v setcap || echo /sbin/setcap)
if [ -x "$setcap" ]; then
	mkdir -p inst/lib/xpuload inst/bin home
	cp "$XPULOAD" inst/bin
	cp "$XPU_SHIM" inst/lib/xpuload
	chmod 755 inst inst/* inst/lib/xpuload
	if "$setcap" cap_bpf,cap_perfmon=ep inst/bin/xpuload 2>/dev/null; then
		chmod 777 home
		LD_LIBRARY_PATH=/marker:$LD_LIBRARY_PATH setpriv --reuid 65534 --regid 65534 \
			--clear-groups inst/bin/xpuload -o home/h.data "$exact" -t 2 -n 1000 \
			>h.out 2>h.log
		is $? 0 "file capabilities: exit status 0"
		like "$(cat h.log)" '1000 launches .* 1000 device records.* lost 0' \
			"file capabilities: an ordinary user can record"
		like "$(LD_LIBRARY_PATH=/marker setpriv --reuid 65534 --regid 65534 \
			--clear-groups inst/bin/xpuload -q -o home/h.data \
			sh -c 'echo $LD_LIBRARY_PATH' 2>/dev/null)" '^/marker$' \
			"file capabilities: the target gets the user's LD_LIBRARY_PATH"
	else
		skip "file capabilities" "this file system holds none"
	fi
else
	skip "file capabilities" "no setcap"
fi

done_testing
