#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deb.sh: installs, uses, upgrades, removes and purges the Debian package in a fresh minimal Debian
# that has no other packages. make check-deb runs it, as root; it needs debootstrap, lintian and the
# network.
#
# BASE= names the directory of a minimal Debian (debootstrap --variant=minbase). Without it, the
# script makes build/deb/base.
. "$XPU_SRC/test/lib/tap.sh"
suite=${SUITE:-bookworm}

# ---- outside

if [ "${1:-}" != inside ]; then
	need root
	need debootstrap
	need lintian
	deb=$(find "$XPU_BUILD/deb" -name 'xpuload_*-1_*.deb')
	case $deb in
	*.deb)	;;
	*)	skip_all "there is not one package in $XPU_BUILD/deb: make deb" ;;
	esac
	base=${BASE:-$XPU_BUILD/deb/base}
	root=$XPU_BUILD/deb/root
	[ -e "$base/etc/debian_version" ] || debootstrap --variant=minbase "$suite" "$base" >&2 ||
		exit 1
	rm -rf "$root"
	cp -a "$base" "$root"
	mkdir -p "$root/build"
	cp "$deb" "$root/build/first.deb"
	lintian --allow-root --fail-on error "$deb" >"$root/build/lintian.log" 2>&1
	echo $? >"$root/build/lintian.status"

	# The next version has the same files and a higher number.
	next=$root/build/next
	dpkg-deb -R "$deb" "$next"
	sed -i 's/^Version: .*/&+next/' "$next/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$next" "$root/build/second.deb" >/dev/null
	rm -rf "$next"
	# The minimal tree lacks make, which most machines have.
	printf '#!/bin/sh\nexit 0\n' >"$root/usr/bin/make"
	chmod 755 "$root/usr/bin/make"
	ROOT=$root sh "$XPU_SRC/test/debian.sh" "$suite" env XPU_SRC=/src XPU_BUILD=/build/none \
		sh /src/test/deb.sh inside
	status=$?
	rm -rf "$root"
	exit $status
fi

# ---- inside

# Runs the installed programs, not the ones in the build directory.
unset -f xpuload xpumerge

ours() {		# ours: lists all files of the package, except the state of dpkg and apt
	find / -xdev \( -path /proc -o -path /sys -o -path /src -o -path /build -o -path /var/log \
		-o -path /tmp -o -path /var/cache \) -prune -o -name '*xpu*' -print
}
install() {
	apt-get install -y -qq --no-install-recommends "$@" >/build/apt.log 2>&1
}

is "$(cat /build/lintian.status)" 0 "lintian finds no errors" || diag "$(cat /build/lintian.log)"
is "$(ours)" "" "before: no file of the package exists"
apt-get update -qq >/build/apt.log 2>&1
install man-db bash bash-completion libcap2-bin
ok $? "Debian's own packages are unchanged" || diag "$(tail -n 3 /build/apt.log)"

install /build/first.deb
is $? 0 "install: exit status 0" || diag "$(tail -n 5 /build/apt.log)"
is "$(dpkg-query -W -f '${Status}' xpuload)" "install ok installed" \
	"install: dpkg reports it as installed"
version=$(dpkg-query -W -f '${Version}' xpuload)
is "$(xpuload --version)" "xpuload ${version%-*}" "xpuload --version is the package's version"
is "$(xpumerge --version)" "xpumerge ${version%-*}" "xpumerge --version is the package's version"
xpuload --check >/build/check.log 2>&1
status=$?
like "$status $(head -n 1 /build/check.log)" '^(0|125) .' \
	"xpuload --check says what this machine allows"
is "$(grep -c -i 'shim.*missing\|cannot find' /build/check.log)" 0 "xpuload --check finds its shim"
diag "$(cat /build/check.log)"
xpuload --cpu-only -q -o /build/cpu.folded sh \
	-c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >/build/record.log 2>&1
is "$?$(grep -c '^sh;' /build/cpu.folded 2>/dev/null | sed 's/^[1-9].*/ lines/')" "0 lines" \
	"xpuload records, and xpumerge merges" || diag "$(cat /build/record.log)"
for page in xpuload xpumerge; do
	like "$(man -P cat $page 2>&1 | head -n 1)" "^$(echo $page | tr a-z A-Z)\(1\)" \
		"man $page works"
done
is "$(bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader xpuload
	COMP_WORDS=(xpuload --gp) COMP_CWORD=1; _xpuload; echo "${COMPREPLY[@]}"')" \
	"--gpu-metrics --gpu-only" "completion is found and works"
[ -s /usr/share/doc/xpuload/README.md ] && [ -s /usr/share/doc/xpuload/copyright ]
ok $? "the package's files have the right types and owners"

# Tests the group: an administrator must make it before anyone can record without sudo.
is "$(stat -c '%a %G' /usr/bin/xpuload)$(getcap /usr/bin/xpuload)" "755 root" \
	"without the group there are no capabilities"
groupadd --system xpuload
dpkg-reconfigure -f noninteractive xpuload >/build/reconfigure.log 2>&1
is "$(stat -c '%a %G' /usr/bin/xpuload) $(getcap /usr/bin/xpuload | sed 's/.* //')" \
	"750 xpuload cap_perfmon,cap_bpf=p" "with the group its members may record" ||
	diag "$(cat /build/reconfigure.log)"

install /build/second.deb
is $? 0 "upgrade: exit status 0" || diag "$(tail -n 5 /build/apt.log)"
is "$(dpkg-query -W -f '${Version}' xpuload)" "$version+next" \
	"upgrade: the new version is installed"
is "$(stat -c '%a %G' /usr/bin/xpuload) $(getcap /usr/bin/xpuload | sed 's/.* //')" \
	"750 xpuload cap_perfmon,cap_bpf=p" "upgrade: the group's members may still record"

dpkg --verify xpuload >/build/verify.log 2>&1
is "$(cat /build/verify.log)" "" "all files are as in the package"
apt-get remove -y -qq xpuload >/build/apt.log 2>&1
is $? 0 "remove: exit status 0"
is "$(ours)" "" "remove: no file is left"
dpkg --purge xpuload >/build/apt.log 2>&1
is $? 0 "purge: exit status 0"
is "$(dpkg-query -W xpuload 2>/dev/null)$(ours)" "" "purge: nothing is left"
install /build/first.deb
is $? 0 "install again, after a purge: exit status 0"
dpkg --purge xpuload >/build/apt.log 2>&1
is "$?$(ours)" 0 "purge at once: nothing is left"
done_testing
