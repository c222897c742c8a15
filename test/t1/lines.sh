#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares inlined functions and source lines with the output of addr2line -afCi.
. "$XPU_SRC/test/lib/tap.sh"
need addr2line objcopy readelf perl

cat >prog.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
namespace net {
template <typename T> static inline __attribute__((always_inline)) T twice(T v)
{
	return v + v * std::abs(rand());
}
static inline __attribute__((always_inline)) double deeper(double v)
{
	return twice(v) + twice((int)v);
}
struct layer {
	std::vector<double> w;
	double __attribute__((noinline)) run(double v)
	{
		for (double &x : w)
			x = deeper(x + v);
		std::sort(w.begin(), w.end(), [](double a, double b) { return a < b; });
		return deeper(w.back());
	}
};
}
int main(int argc, char **argv)
{
	net::layer l;
	for (int i = 0; i < argc; i++)
		l.w.push_back(atof(argv[i]));
	printf("%f\n", l.run(argc));
}
END
build() {
	out=$1
	shift
	${CXX:-c++} -g -O2 -w -o "$out" "$@" prog.cc 2>cc.log
}
build prog -Wl,--build-id=0x1122334455667788 || skip_all "no working C++ compiler: $(cat cc.log)"

# Prints the address of every third byte of the code.
readelf -SW prog | awk '$2 == ".text" || $3 == ".text" {
	for (i = 1; i <= NF; i++) if ($i == "PROGBITS") print $(i + 1), $(i + 3) }' >text
read -r from size <text
i=0
while [ $i -lt $((0x$size)) ]; do
	printf '%x\n' $((0x$from + i))
	i=$((i + 3))
done >addresses
addr2line -afCi -e prog <addresses | sed 's|^/.*/||; s/ (discriminator [0-9]*)$//' >want

# Only two names may differ. The first is the name of the innermost function: if it is inlined and
# DWARF has no linkage name for it, addr2line (binutils 2.40) prints the symbol into which it is
# inlined. The second is the name of the outermost function: if DWARF has no name for it, addr2line
# prints its symbol.
compare='
	my ($bad, $explained) = (0, 0);
	sub blocks {
		my @blocks;
		open my $f, "<", shift or die;
		while (<$f>) {
			chomp;
			if (/^0x/) { push @blocks, [$_] } else { push @{$blocks[-1]}, $_ }
		}
		return @blocks;
	}
	my ($ours, $theirs) = map { [blocks($_)] } @ARGV;
	die "different numbers of addresses\n" if @$ours != @$theirs;
	for my $i (0 .. $#$ours) {
		my ($o, $t) = ($ours->[$i], $theirs->[$i]);
		next if "@$o" eq "@$t";
		# If DWARF has no name, addr2line prints the symbol; another test compares symbols.
		if ("@$o[1, 2]" eq "?? ??:0" && $t->[2] =~ /:\?$/) {
			$explained++;
			next;
		}
		my ($name, $theirs) = ($o->[1], $t->[1]);
		$t->[1] = $name;
		if ("@$o" eq "@$t" &&
		    ($theirs eq $t->[-2] || @$t == 3 && $theirs =~ /\b\Q$name\E\b/)) {
			$explained++;
			next;
		}
		$bad++;
		print "ours @$o\naddr2line @$t, first $theirs\n";
	}
	print "explained $explained\n";
	exit($bad ? 1 : 0);
'

same() {		# same FILE DEBUG_DIRS NAME
	"$XPU_BUILD/names" -i "$1" "$2" <addresses >got 2>names.log
	nr=$(grep -c . addresses)
	functions=$((($(wc -l <got) - nr) / 2))
	perl -e "$compare" got want >diff.log
	ok $? \
		"$3: $nr addresses, $functions functions, $(sed \
		-n 's/^explained/explained differences:/p' diff.log)" ||
		diag "$(head -n 20 diff.log)" "$(cat names.log)"
	[ "$functions" -gt "$nr" ]
	ok $? "$3: some functions are inlined"
}

same prog '' "DWARF in the file"
mkdir -p dbg/.build-id/11
objcopy --only-keep-debug prog dbg/.build-id/11/22334455667788.debug
strip -o stripped prog
same stripped "$PWD/dbg" "DWARF in a separate debug file"
objcopy --compress-debug-sections dbg/.build-id/11/22334455667788.debug
same stripped "$PWD/dbg" "DWARF in a compressed debug file"
"$XPU_BUILD/names" -i stripped '' <addresses | grep -v '^0x' | sort -u | tr '\n' ' ' >got
is "$(cat got)" "?? ??:0 " "without DWARF no source lines are found"
done_testing
