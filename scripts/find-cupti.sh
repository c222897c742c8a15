#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints the compiler flags for the headers of CUDA and CUPTI, or says on stderr what to install.
# Looks in CUDA_HOME, in the usual prefixes, in the distribution's own place and in pip's layouts.

try() {		# DIR...: if the DIRs have cupti.h and cuda.h, prints the flags and exits
	cupti='' cuda=''
	for dir; do
		[ -z "$cupti" ] && [ -r "$dir/cupti.h" ] && cupti=$dir
		[ -z "$cuda" ] && [ -r "$dir/cuda.h" ] && cuda=$dir
	done
	[ -n "$cupti" ] && [ -n "$cuda" ] || return 1
	if [ "$cupti" = "$cuda" ]; then
		echo "-isystem $cupti"
	else
		echo "-isystem $cupti -isystem $cuda"
	fi
	exit 0
}

for home in "$CUDA_HOME" "$CUDA_PATH" /usr/local/cuda /opt/cuda; do
	[ -n "$home" ] && try "$home/include" "$home/extras/CUPTI/include"
done
[ -r /usr/include/cupti.h ] && [ -r /usr/include/cuda.h ] && { echo "-DXPU_SYSTEM_CUDA"; exit 0; }

sites=$(python3 -c 'import site, sys; print("\n".join(site.getsitepackages() +
	[site.getusersitepackages()] + sys.path))' 2>/dev/null)
IFS='
'
for site in $sites; do
	try "$site"/nvidia/cu13/include
	try "$site"/nvidia/cuda_cupti/include "$site"/nvidia/cuda_runtime/include
done

cat >&2 <<'END'
make: the headers of CUPTI (cupti.h, cuda.h) were not found, so libxpushim.so is not built and
      nothing can be recorded. Install the CUDA toolkit (cuda-cupti-dev and cuda-cudart-dev are
      enough) or the pip packages nvidia-cuda-cupti and nvidia-cuda-runtime, or set CUDA_HOME.
END
exit 1
