#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh FUZZER...: each for its share of FUZZ_SECONDS, from seeds made here. What one finds stays
# beside it as crash-*, and fails this.
set -u
: "${XPU_BUILD:?run it as: make fuzz}" "${XPU_SRC:?}"
seconds=$((${FUZZ_SECONDS:-600} / $#))
status=0

seed_reader() {
	n=0
	while read -r args; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # several arguments on purpose
		"$XPU_BUILD/gen_data" -o "$1/gen-$n.data" --paths 3 --frames 7 --launches 12 $args
	done <<-END
	--threads 2
	--memcpy-every 2 --graph-every 3 --window 4
	--early --lose-record 4 --lose-launch 5
	--procs 2 --reuse --threads 4 --launches 6
	--gpus 2 --streams 3 --shim --no-end
	--map $XPU_BUILD/gen_data --frames 12
	END
	# The golden recordings have one of nearly everything.
	if [ -x "$XPU_BUILD/test/t1/golden.t" ]; then
		(cd "$1" && "$XPU_BUILD/test/t1/golden.t" >/dev/null 2>&1
		find . -type f ! -name '*.data' -delete)
	fi
}

seed_dso() {
	cat >"$1/seed.c" <<-END
	static int f(int a) { return a + 1; }
	int _ZN3foo3barEi(int a) { return f(a); }
	END
	${CC:-cc} -O0 -shared -fPIC -nostdlib -o "$1/a.so" "$1/seed.c" 2>/dev/null
	${CC:-cc} -O0 -shared -fPIC -nostdlib -s -o "$1/b.so" "$1/seed.c" 2>/dev/null
	${CC:-cc} -O2 -shared -fPIC -nostdlib -Wl,-z,noseparate-code -o "$1/c.so" "$1/seed.c" \
		2>/dev/null
	# A C library as far as names go: the functions at the root of stacks, found by what they do.
	cat >"$1/libc.c" <<-END
	void pthread_create(void *, void *, void *);
	void exit(int code) { for (;;) code++; }
	struct thread { char pad[0x638]; void (*fn)(void *); void *arg; };
	static __attribute__((noinline)) void begin(struct thread *t) { t->fn(t->arg); }
	static __attribute__((noinline)) void call_main(int (*f)(void)) { exit(f()); }
	void __libc_start_main(int (*f)(void)) { call_main(f); }
	void create(struct thread *t) { begin(t); pthread_create(t, 0, begin); }
	__asm__(".cfi_startproc\nmov \$435, %eax\n.cfi_endproc\nsyscall\n"
		"test %rax, %rax\n.cfi_startproc\n.cfi_undefined rip\ncall *%rdx\n.cfi_endproc\n");
	END
	${CC:-cc} -O1 -fno-optimize-sibling-calls -shared -fPIC -nostdlib -s \
		-Wl,-soname,libc.so.6 -Wl,-Bsymbolic -o "$1/libc.so" "$1/libc.c" 2>/dev/null
	# MiniDebugInfo, and a link to a debug file.
	${CC:-cc} -O0 -shared -fPIC -nostdlib -o "$1/full.so" "$1/libc.c" 2>/dev/null
	objcopy -S "$1/full.so" "$1/mini.so"
	xz -k "$1/a.so" && objcopy --add-section .gnu_debugdata="$1/a.so.xz" "$1/mini.so"
	objcopy --add-gnu-debuglink="$1/a.so" "$1/b.so" "$1/link.so"
	rm -f "$1/seed.c" "$1/libc.c" "$1/a.so.xz"
	if [ -x "$XPU_BUILD/test/t1/golden.t" ]; then
		(cd "$1" && "$XPU_BUILD/test/t1/golden.t" >/dev/null 2>&1
		find . -type f ! -name '*.so' ! -name '*.so.*' -delete)
	fi
}

seed_jitmap() {
	printf '7f0000001000 40 first\n7f0000001040 20 py::f:/a/b.py\n7f0000001000 8 again\n' >"$1/map"
}

for fuzzer; do
	name=$(basename "$fuzzer")
	corpus=$XPU_BUILD/fuzz/corpus-$name seeds=$XPU_BUILD/fuzz/seeds-$name
	rm -rf "$seeds"
	mkdir -p "$corpus" "$seeds"
	max=8192
	case $name in
	fuzz_reader)	seed_reader "$seeds" ;;
	fuzz_jitmap)	seed_jitmap "$seeds" ;;
	fuzz_dso|fuzz_cfi)	seed_dso "$seeds"; max=20000 ;;
	esac
	echo "fuzz: $name for $seconds s"
	if (cd "$XPU_BUILD/fuzz" && "$fuzzer" -max_total_time="$seconds" -max_len="$max" \
			-rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
			"$corpus" "$seeds" >"$name.log" 2>&1); then
		grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' "$XPU_BUILD/fuzz/$name.log"
	else
		echo "fuzz: $name FAILED; $XPU_BUILD/fuzz/$name.log ends with:"
		tail -n 40 "$XPU_BUILD/fuzz/$name.log"
		status=1
	fi
done
exit $status
