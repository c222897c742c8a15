#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# set-caps.sh FILE GROUP: lets the members of a group record with an installed xpuload, and says
# what it did. The kernel's documentation calls such a group a "privileged perf users group". If the
# script fails, FILE gets no capabilities, and is for use with sudo.

file=$1 group=$2
caps=cap_bpf,cap_perfmon=p	# enough since Linux 6.6; older versions also need cap_sys_admin
PATH=$PATH:/usr/sbin:/sbin

sudo_only() {
	echo "$file: no capabilities are set: $1. Run it with sudo"
	exit 0
}

[ "$(id -u)" = 0 ] || sudo_only "only root can"
command -v setcap >/dev/null || sudo_only "setcap is missing (Debian: libcap2-bin)"
if ! getent group "$group" >/dev/null; then
	groupadd --system "$group" 2>/dev/null ||
		sudo_only "the group $group is missing and cannot be made"
	made=", a new group"
fi
# The order matters: nobody else may be able to run the file when it gets the capabilities.
if ! chown "root:$group" "$file" || ! chmod 0750 "$file"; then
	sudo_only "it cannot be given to the group $group"
fi
setcap "$caps" "$file" 2>/dev/null || {
	chmod 0755 "$file"
	sudo_only "this file system, or this machine, takes none"
}
echo "$file: members of $group${made:-} may record their own processes now, without sudo ($caps)"
echo "to add one: usermod -aG $group USER, who logs in anew; what they may see is in SECURITY.md"
