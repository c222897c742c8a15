#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict.sh FOLDED MERGE_LOG: prints the exactness line for a folded file whose unit is records.
#
# In the workloads exactly one function launches each kernel: site_NN launches kernel_NN, NAME
# launches k_NAME. A record under another function is wrong. The other figures come from xpumerge's
# first line of figures, which covers all recordings.

wrong=$(perl -ne '
	my ($path, $n) = /^(.*) (\d+)$/ or next;
	# A kernel launched while nobody was attached has no known launch site.
	next if $path =~ /;\[(?:before attach|after detach)\];/;
	my @frames = split /;/, $path;
	my $leaf = pop @frames;
	my ($kernel) = $leaf =~ /^\[GPU\d*_Kernel\](?:.*::)?(\w+)/ or next;
	my $site = $kernel =~ /^kernel_(\w+)/ ? "site_$1" : $kernel =~ /^k_(\w+)/ ? $1 : next;
	# The owner is the innermost application frame outside of the API call.
	my ($owner) = grep { /(?:^|::)(?:site_\w+|\Q$site\E)(?:$|[(<])/ } reverse @frames;
	$wrong += $n unless defined $owner && $owner =~ /(?:^|::)\Q$site\E(?:$|[(<])/;
	END { print $wrong + 0 }' "$1")
n='\([0-9]*\)'
verdict="launches \1 matched \2 wrong $wrong unmatched \3 lost \4"
sed -n "s/^.*launches $n matched $n unmatched $n lost $n.*/$verdict/p" "$2" | head -n 1
