#!/bin/sh
# SPDX-License-Identifier: MIT
# py_find.sh [every|two]: prints the CPythons 3.8 to 3.13 on this machine, one per line:
#
#	VERSION EXECUTABLE PREFIX LIBPYTHON (- if there is no LIBPYTHON)
#
# For each release: one CPython that is entirely in its executable, and one that is in a shared
# library. XPU_TEST_PYTHONS names other executables.

ask='
import os, sys, sysconfig
var = sysconfig.get_config_var
lib = os.path.join(var("LIBDIR") or "", var("INSTSONAME") or "")
own = open("/proc/self/maps").read().find("libpython3.") < 0
if sys.implementation.name == "cpython" and (3, 8) <= sys.version_info[:2] <= (3, 13):
    print("%d.%d.%d" % sys.version_info[:3], own, sys.executable, sys.base_prefix,
          lib if lib.find(".so") > 0 and os.path.exists(lib) else "-")
'
{
	IFS=:
	for dir in $PATH; do
		ls "$dir"/python3 "$dir"/python3.8 "$dir"/python3.9 "$dir"/python3.1[0-3]
	done
	unset IFS
	ls "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3.[0-9]*
	printf '%s\n' ${XPU_TEST_PYTHONS:-}
} 2>/dev/null | while read -r python; do
	case $python in *-config | */shims/*) continue ;; esac
	env -u LD_PRELOAD "$python" -c "$ask" 2>/dev/null
done | awk '!seen[$1, $2]++ { print $1, $3, $4, $5 }' |
if [ "${1:-every}" = two ]; then
	awk '{ split($1, v, "."); n = v[2] * 1000 + v[3] } NR == 1 { print; newest = n; next }
		n > newest { newest = n; line = $0 } END { if (line) print line }'
else
	cat
fi
