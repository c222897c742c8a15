#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The sources of names: .symtab, .dynsym, debug files found by build-id and by .gnu_debuglink,
# MiniDebugInfo and PLT entries. Functions at the root of stacks have names even if their files are
# stripped.
. "$XPU_SRC/test/lib/tap.sh"
need objcopy nm xz
HOME=$PWD/home
export HOME
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH

cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline)) int local_function(int a) { __asm__(""); return a + 1; }
int __attribute__((noinline)) exported_function(int a) { __asm__(""); return local_function(a); }
int main(int argc, char **argv) { puts(argv[0]); return exported_function(argc) + abs(atoi(argv[0])); }
END

build() {		# build NAME FLAG...: builds with symbols
	name=$1
	shift
	${CC:-cc} -g -O1 -o "$name" "$@" prog.c 2>cc.log || { cat cc.log; return 1; }
}

addr() {		# addr FILE SYMBOL: prints its address
	nm "$1" | awk -v s="$2" '$3 == s { print $1 }'
}

names() {		# names FILE DEBUG_DIRS SYMBOLS_FROM: prints the names of three functions
	for s in local_function exported_function _start; do
		addr "${3:-full}" $s
	done | "$XPU_BUILD/names" "$1" "$2" 2>names.log | tr '\n' ' ' | sed 's/ $//'
}

all="local_function exported_function _start"
none=$PWD/nowhere

build full -rdynamic -Wl,--build-id=0x0123456789abcdef || skip_all "the C compiler does not work"
strip -o stripped full
is "$(names full "$none")" "$all" ".symtab gives all names"
is "$(names stripped "$none")" "?? exported_function _start" ".dynsym gives exported names"
build quiet
strip -o quiet.s quiet
is "$(names quiet.s "$none" quiet)" "?? ?? _start" \
	"a stripped file that exports no function has only the name of its entry point"

# Debug files by build-id.
mkdir -p dbg/.build-id/01
objcopy --only-keep-debug full dbg/.build-id/01/23456789abcdef.debug
is "$(names stripped "$PWD/dbg")" "$all" "a debug file is found by its build-id"
is "$(names stripped "$none:$PWD/dbg")" "$all" "a debug file is found in the second directory"
is "$(names stripped "")" "?? exported_function _start" \
	"without debug directories no debug file is used"
mkdir -p other/.build-id/01
build other_id -rdynamic -Wl,--build-id=0xfedcba9876543210
objcopy --only-keep-debug other_id other/.build-id/01/23456789abcdef.debug
is "$(names stripped "$PWD/other")" "?? exported_function _start" \
	"a debug file with another build-id is not used"
mkdir -p home/.debug/.build-id/01/23456789abcdef
cp dbg/.build-id/01/*.debug home/.debug/.build-id/01/23456789abcdef/debug
is "$(names stripped "$none")" "$all" "a debug file in perf's cache is found"
rm -r home
mkdir -p home/.cache/debuginfod_client/0123456789abcdef
cp dbg/.build-id/01/*.debug home/.cache/debuginfod_client/0123456789abcdef/debuginfo
is "$(names stripped "$none")" "$all" "a debug file in debuginfod's cache is found"
rm -r home

# .gnu_debuglink: the files have no build-id, so the CRC must match.
build no_id -rdynamic -Wl,--build-id=none
objcopy --only-keep-debug no_id no_id.dbg
strip -o linked no_id
objcopy --add-gnu-debuglink=no_id.dbg linked
is "$(names "$PWD/linked" "$none" no_id)" "$all" \
	".gnu_debuglink: a debug file next to the file is found"
mkdir .debug
mv no_id.dbg .debug
is "$(names "$PWD/linked" "$none" no_id)" "$all" ".gnu_debuglink: a debug file in .debug is found"
mkdir -p "dbg$PWD"
mv .debug/no_id.dbg "dbg$PWD"
is "$(names "$PWD/linked" "$PWD/dbg" no_id)" "$all" \
	".gnu_debuglink: a debug file under a debug directory is found"
mv "dbg$PWD/no_id.dbg" .
printf x >>no_id.dbg
is "$(names "$PWD/linked" "$none" no_id)" "?? exported_function _start" \
	".gnu_debuglink: a debug file with another CRC is not used"

# A file that was moved after linking (prelink): the addresses in its debug file have another base.
build low -no-pie -Wl,--build-id=none -Wl,-Ttext-segment=0x400000
build high -no-pie -Wl,--build-id=none -Wl,-Ttext-segment=0x600000
objcopy --only-keep-debug low low.dbg
strip -o moved high
objcopy --add-gnu-debuglink=low.dbg moved
is "$(names "$PWD/moved" "$none" high)" "$all" "a debug file with other addresses is used"

# MiniDebugInfo: compressed symbols that .dynsym lacks.
nm --format=posix --defined-only -D full | awk '{ print $1 }' | sort >dynamic
nm --format=posix --defined-only full | awk '$2 ~ /[Tt]/ { print $1 }' | sort |
	comm -13 dynamic - >keep
objcopy -S --remove-section .gdb_index --keep-symbols=keep dbg/.build-id/01/*.debug mini
xz -f mini
cp stripped with_mini
objcopy --add-section .gnu_debugdata=mini.xz with_mini
is "$(names with_mini "$none")" "$all" ".gnu_debugdata gives all names"
head -c 100 mini.xz >cut.xz
cp stripped bad_mini
objcopy --add-section .gnu_debugdata=cut.xz bad_mini
is "$(names bad_mini "$none")" "?? exported_function _start" \
	"damaged .gnu_debugdata: names come from .dynsym"

# PLT entries have objdump's names.
plt() {			# plt FILE NAME: checks that each entry has objdump's name
	objdump -d -j .plt -j .plt.sec -j .plt.got "$1" 2>/dev/null |
		sed -n 's/^0*\([0-9a-f]*\) <\(.*@plt\)>:$/\1 \2/p' >want
	cut -d' ' -f1 want | "$XPU_BUILD/names" "$1" "$none" >got
	cut -d' ' -f2 want | diff - got >diff.log
	ok $? "$2: the $(wc -l <want) PLT entries have objdump's names" || diag "$(cat diff.log)"
	[ -s want ]
	ok $? "$2: the file has PLT entries"
}
plt stripped "with lazy binding"
build now -rdynamic -Wl,-z,now -s && plt now "without lazy binding"
build ibt -fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy -s && plt ibt "with endbr64"
libc=$(ldd full | awk '$1 == "libc.so.6" { print $3 }')
at=$(objdump -d -j .plt "$libc" | sed -n 's/^0*\([0-9a-f]*\) <\*ABS\*.*@plt>:$/\1/p' | sed -n 1p)
if [ -n "$at" ]; then
	like "$(echo "$at" | "$XPU_BUILD/names" "$libc" "$none")" '^[a-z_]+@plt$' \
		"a PLT entry for an indirect function has a name"
else
	skip "a PLT entry for an indirect function has a name" "this libc has no indirect functions"
fi

# Compares the stack roots in a stripped C library with its debug file, if that file is installed.
id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug
if [ -e "$debug" ] && nm "$debug" 2>/dev/null | grep -q ' start_thread$'; then
	strip -o libc.so.6 "$libc"
	for s in clone3 start_thread __libc_start_call_main; do
		# Newer libraries have __clone3 only.
		nm -S "$debug" | awk -v s="^(__)?$s\$" '$4 ~ s { print $1, $2; exit }
			$3 ~ s { print $1, "40"; exit }' >extent
		read -r from size <extent
		# The function's first byte and a byte in its middle, so that its size is checked,
		# too.
		got=$(printf '%s\n' "$from" \
			"$(printf %x $((0x$from + 0x${size#"${size%%[!0]*}"} / 2)))" |
			"$XPU_BUILD/names" "$PWD/libc.so.6" "$none" | tr '\n' ' ')
		is "$got" "$s $s " "a stripped libc: $s is found"
	done
else
	skip "the roots of stacks in a stripped libc" "no debug symbols of it (Debian: libc6-dbg)"
fi

# Only the thread start function matches, whichever registers the compiler used.
thread_library() {	# thread_library MORE BODY
	cat >thread.s <<-END
		.text
		.globl pthread_create
		.type pthread_create, @function
		pthread_create: .cfi_startproc
			call create
			$1
			ret
			.cfi_endproc
		.size pthread_create, . - pthread_create
		create: .cfi_startproc
			lea run(%rip), %rsi
			ret
			.cfi_endproc
		other: .cfi_startproc
			mov 0x100(%rbx), %rdi
			call *0xf8(%rbx)
			ret
			.cfi_endproc
		run: .cfi_startproc
			$2
			ret
			.cfi_endproc
		.section .note.GNU-stack
	END
	${CC:-cc} -shared -nostdlib -Wl,-soname,libc.so.6 -o thread.so thread.s 2>cc.log ||
		cat cc.log
	addr thread.so run >start
	strip -o thread.stripped thread.so
	"$XPU_BUILD/names" thread.stripped "$none" <start 2>names.log
}
is "$(thread_library "" "mov 0x638(%r9), %rax; mov 0x640(%r9), %rdi; call *%rax")" start_thread \
	"a thread's start function is found through a pointer in a register"
is "$(thread_library "" "mov 0x640(%r13), %rdi; call *0x638(%r13)")" start_thread \
	"a thread's start function is found through a pointer in memory"
is "$(thread_library "" "mov 0x638(%r9), %rax; mov 0x648(%r9), %rdi; call *%rax")" "??" \
	"a call with an argument from a wrong offset does not identify the start of a thread"
is "$(thread_library "lea other(%rip), %rax" "mov 0x640(%r13), %rdi; call *0x638(%r13)")" "??" \
	"if two functions may be the start of a thread, neither is named start_thread"

# The caller of main(), for each form of the call instruction.
main_library() {	# main_library CALL
	cat >main.s <<-END
		.text
		.globl exit, __libc_start_main
		.type exit, @function
		.type __libc_start_main, @function
		exit: .cfi_startproc
		local_exit:
			ret
			.cfi_endproc
		.size exit, . - exit
		__libc_start_main: .cfi_startproc
			call call_main
			ret
			.cfi_endproc
		.size __libc_start_main, . - __libc_start_main
		call_main: .cfi_startproc
			nop
			$1
			mov %eax, %edi
			call local_exit
			.cfi_endproc
		.section .note.GNU-stack
	END
	${CC:-cc} -shared -nostdlib -Wl,-soname,libc.so.6 -o main.so main.s 2>cc.log || cat cc.log
	addr main.so call_main >start
	strip -o main.stripped main.so
	"$XPU_BUILD/names" main.stripped "$none" <start 2>names.log
}
for call in "*%rax" "*8(%rsp)" "*0x118(%rsp)" "*-8(%rbp)" "*-0x118(%rbp)"; do
	is "$(main_library "call $call")" __libc_start_call_main \
		"the function that calls main() by '$call' is found"
done
is "$(main_library "call local_exit")" "??" \
	"a function that calls something else is not taken for the caller of main()"

# If a function has several names, the name in use is shown, even if only .dynsym has it.
cat >versions.c <<'END'
int move(int a) { return a + 1; }
int __attribute__((alias("move"))) copy_old(int);
int copy_new(int a) { return a + 2; }
__asm__(".symver copy_old, copy@V1\n.symver copy_new, copy@@V2");
END
echo 'V1 { global: move; copy; local: *; }; V2 { global: copy; } V1;' >versions.map
if ${CC:-cc} -g0 -O1 -fPIC -shared -Wl,--version-script=versions.map -o versions.so \
	versions.c 2>cc.log; then
	strip -o versions.stripped versions.so
	for file in versions.so versions.stripped; do
		is "$(nm -D versions.so | awk '/ move@| copy@@/ { print $1 }' | sort |
			"$XPU_BUILD/names" $file "$none" | tr '\n' ' ')" "move copy " \
			"$file: names of old symbol versions are not used"
	done
else
	skip "names of old versions" "$(head -n 1 cc.log)"
fi
done_testing
