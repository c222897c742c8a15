#!/bin/sh
# SPDX-License-Identifier: MIT
# The shim imports only the symbols in preload/imports.txt. It can therefore be loaded with the
# oldest C library that it supports, whatever library it was built with.
. "$XPU_SRC/test/lib/tap.sh"
need shim nm readelf
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer's runtime is wanted, too"

# foreign FILE: prints a line for each import that is not allowed
foreign() {
	{
		sed 's/^/may /' "$XPU_SRC/preload/imports.txt"
		readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/lib \1/p'
		nm -D --undefined-only --with-symbol-versions "$1" | sed 's/@/ /'
	} | awk -v least="$(readelf -hW "$1" | sed -n 's/.*Machine: *AArch64/GLIBC_2.17/p')" '
	function later(a, b,   x, y, nx, ny, i) {	# compares two versions such as GLIBC_2.3.4
		nx = split(substr(a, 7), x, ".")
		ny = split(substr(b, 7), y, ".")
		for (i = 1; i <= nx || i <= ny; i++)
			if (x[i] + 0 != y[i] + 0)
				return x[i] + 0 > y[i] + 0
		return 0
	}
	$1 == "may" && $2 == "lib" { libs[$3] = 1; next }
	$1 == "may" && $2 !~ /^#/ && NF > 2 {
		version[$2] = $3 != "-" && least != "" && later(least, $3) ? least : $3
		weak[$2] = $4 != "" || $3 == "-"
	}
	$1 == "may" { next }
	$1 == "lib" { if (!($2 in libs)) print "library", $2; next }
	!($2 in version) { print $2, $3; next }
	weak[$2] && $1 == "U" { print $2, "is not weak" }
	$3 == "" && version[$2] != "-" && !weak[$2] { print $2, "has no version" }
	$3 != "" && version[$2] == "-" { print $2, $3; next }
	$3 != "" && ($3 !~ /^GLIBC_[0-9.]+$/ || later($3, version[$2])) { print $2, $3 }'
}

is "$(foreign "$XPU_SHIM")" "" "libxpushim.so imports only symbols in preload/imports.txt"
nm -D --undefined-only "$XPU_SHIM" | grep -q dl_iterate_phdr
ok $? "the imports of libxpushim.so can be read"

# Each kind of forbidden import is found.
cat >libnew.c <<-'END'
	void *memcpy(void *a, const void *b, unsigned long n) { (void)b; (void)n; return a; }
	END
cat >bad.c <<-'END'
	#include <math.h>
	#include <stdlib.h>
	#include <string.h>
	extern const char *gnu_get_libc_version(void);
	void *use[] = { (void *)strtod, (void *)gnu_get_libc_version, (void *)y1, (void *)memcpy };
	END
echo 'GLIBC_99.5 { global: memcpy; };' >new.map
if ${CC:-cc} -fPIC -shared -nostdlib -Wl,--version-script=new.map -Wl,-soname,libnew.so \
	-o libnew.so libnew.c \
		2>cc.log && ${CC:-cc} -fPIC -shared -o bad.so bad.c -L. -lnew -lm \
		-Wl,--no-as-needed 2>>cc.log; then
	is "$(foreign ./bad.so | sed 's/\(strtod\|y1\) .*/\1/' | LC_ALL=C sort | tr '\n' ',')" \
		"gnu_get_libc_version is not weak,library libm.so.6,library libnew.so,memcpy GLIBC_99.5,strtod,y1," \
		"forbidden functions, libraries and versions are found"
else
	skip "a foreign import is found" "no C compiler: $(head -n 1 cc.log)"
fi
done_testing
