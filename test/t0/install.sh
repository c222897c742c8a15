#!/bin/sh
# SPDX-License-Identifier: MIT
# make install and uninstall: the installed programs run, and uninstall removes our files and no
# others.
. "$XPU_SRC/test/lib/tap.sh"

# Installs the existing build: with other flags, make would build it again.
run_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$XPU_SRC" O="$XPU_BUILD" -o all \
		DESTDIR="$PWD/a b" prefix=/usr "$@" >log 2>&1
}

run_make install
is $? 0 "install: exit status 0" || diag "$(tail -n 3 log)"
(cd "a b/usr" && find . -type f | LC_ALL=C sort) >installed
for file in bin/xpuload bin/xpumerge lib/xpuload/fold.sh share/man/man1/xpuload.1 \
		share/man/man1/xpumerge.1 share/doc/xpuload/README.md \
		share/doc/xpuload/SECURITY.md share/doc/xpuload/LICENSE \
		share/doc/xpuload/doc/results.md share/doc/xpuload/sql/top_paths.sql \
		share/bash-completion/completions/xpuload \
		share/bash-completion/completions/xpumerge; do
	grep -qx "./$file" installed
	ok $? "install: $file exists"
done
[ ! -e "$XPU_BUILD/libxpushim.so" ] || grep -qx ./lib/xpuload/libxpushim.so installed
ok $? "install: the shim exists if it was built"

getcap=$(command -v getcap || echo /sbin/getcap)
is "$(stat -c %a "a b/usr/bin/xpuload") $("$getcap" "a b/usr/bin/xpuload" 2>/dev/null)" "755 " \
	"install with DESTDIR: no capabilities are set"

"$XPU_BUILD/gen_data" -o xpu.data --launches 100
"a b/usr/bin/xpumerge" -f folded >want 2>/dev/null
env -u XPUMERGE sh "a b/usr/lib/xpuload/fold.sh" xpu.data >got 2>log
is $? 0 "the installed fold.sh: exit status 0"
[ -s want ] && cmp got want
ok $? "the installed fold.sh finds the installed xpumerge"

echo >"a b/usr/lib/xpuload/theirs"
echo >"a b/usr/lib/theirs.so"
run_make uninstall
is $? 0 "uninstall: exit status 0" || diag "$(tail -n 3 log)"
is "$(cd "a b" && find . -type f | LC_ALL=C sort | tr '\n' ' ')" \
	"./usr/lib/theirs.so ./usr/lib/xpuload/theirs " "uninstall: only foreign files are left"
[ ! -e "a b/usr/share/doc/xpuload" ]
ok $? "uninstall: the program's own directory is removed"
run_make uninstall
is $? 0 "a second uninstall: exit status 0"

# Without DESTDIR, as root: a group may record. This group already exists; no test creates a group.
here=$PWD/here
install_here() {		# install_here GROUP
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$XPU_SRC" O="$XPU_BUILD" -o all \
		prefix="$here" GROUP="$1" "${2:-install}" >log 2>&1
}
sees() {			# sees NAME EXPECTED: compares mode, group, capabilities
	is "$(stat -c '%a %U:%G' "$here/bin/xpuload")$("$getcap" "$here/bin/xpuload" |
		sed "s|^[^ ]*||; s/cap_perfmon,cap_bpf/cap_bpf,cap_perfmon/")" "$2" "$1"
}
group=$(id -gn nobody 2>/dev/null)
if [ "$(id -u)" != 0 ]; then
	install_here nobody
	is $? 0 "install, not as root: exit status 0" || diag "$(tail -n 3 log)"
	like "$(cat log)" 'no capabilities are set: only root can. Run it with sudo$' \
		"install, not as root: a message says that no capabilities are set"
elif [ ! -x "$getcap" ] || [ -z "$group" ]; then
	skip "install, as root" "no getcap, or no group"
else
	# On a machine where groups cannot be created.
	mkdir bin
	printf '#!/bin/sh\nexit 10\n' >bin/groupadd
	chmod 755 bin/groupadd
	(PATH=$PWD/bin:$PATH; install_here no-such-group)
	is $? 0 "install, no group: exit status 0" || diag "$(tail -n 3 log)"
	like "$(cat log)" \
		'no capabilities are set: the group no-such-group is missing and cannot be made. Run it with sudo$' \
		"install, no group: a message says that the group cannot be made"
	sees "install, no group: everybody may still run xpuload" "755 root:root"

	install_here "$group"
	is $? 0 "install, as root: exit status 0" || diag "$(tail -n 3 log)"
	if grep -q 'no capabilities are set: this file system' log; then
		skip "install, as root" "this file system holds no capabilities"
	else
		like "$(cat log)" "xpuload: members of $group may record their own processes now" \
			"install, as root: a message says who may record now"
		like "$(cat log)" "^to add one: usermod -aG $group USER" \
			"install, as root: a message says how to add a user to the group"
		sees "install, as root: only the group may run xpuload, and no capability is effective" \
			"750 root:$group cap_bpf,cap_perfmon=p"
	fi
	install_here "$group" uninstall
	is $? 0 "uninstall, as root: exit status 0" || diag "$(tail -n 3 log)"
	like "$(cat log)" "^the group $group is still there: groupdel $group removes it$" \
		"uninstall, as root: a message says that the group is not removed"
	is "$(find "$here" -type f | wc -l)" 0 "uninstall, as root: no file is left"
fi
done_testing
