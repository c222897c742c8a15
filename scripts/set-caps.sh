#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Gives an installed xpuload the capabilities it needs, where that can be done, and says what it did.

file=$1
caps=cap_bpf,cap_perfmon=ep	# from Linux 6.6 on; before, the kernel wants cap_sys_admin, too
setcap=$(command -v setcap || echo /sbin/setcap)

if [ "$(id -u)" = 0 ] && [ -x "$setcap" ] && "$setcap" "$caps" "$file" 2>/dev/null; then
	echo "$file: every user may record now ($caps); to undo: setcap -r $file"
else
	echo "$file: run it with sudo, or once as root: setcap $caps $file"
fi
exit 0
