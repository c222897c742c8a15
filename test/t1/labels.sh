#!/bin/sh
# SPDX-License-Identifier: MIT
# Labels of processes in each format. One recording has all labels, and metrics of a second GPU; it
# is also merged with a recording that has no labels.
. "$XPU_SRC/test/lib/tap.sh"
corpus=$XPU_SRC/test/t1/corpus
cp "$corpus/2.6.xpu" new.data
cp "$corpus/2.5.xpu" old.data

xpumerge new.data -o new.json 2>log
like "$(cat new.json)" '"name":"rank 5: app \(pid 100\)"' \
	"chrome: the name of a process contains its rank"
like "$(cat new.json)" '"name":"process_sort_index","args":\{"sort_index":7\}' \
	"chrome: processes are sorted by rank"
like "$(cat new.json)" '"labels":"node node;1, pod ml/train-0, container 0123456789ab, job 4711"' \
	"chrome: a rank's process has its labels"
xpumerge old.data -o old.json 2>log
unlike "$(cat old.json)" 'rank|process_labels' "chrome: a process without labels shows no labels"
xpumerge new.data -o new.pftrace 2>log
is "$(grep -ac 'rank 5: app' new.pftrace) $(grep -ac 'node node;1, pod ml/train-0' new.pftrace)" \
	"1 1" "pftrace: a rank's process has its name and its labels"
xpumerge new.data -o new.pb.gz 2>log
for word in rank local_rank world_size local_size node_rank job step run node pod namespace \
	pod_uid container \
		train-0 'node;1' 'run 7' 4711 01234567-89ab-cdef-0123-456789abcdef; do
	gzip -dc new.pb.gz | grep -aqF -- "$word" || diag "no $word"
done
ok $? "pprof: a sample has all labels"
if command -v protoc >protoc; then
	gzip -dc new.pb.gz |
		protoc --decode perftools.profiles.Profile -I "$XPU_SRC/third_party/pprof" \
		"$XPU_SRC/third_party/pprof/profile.proto" >decoded 2>log || diag "$(cat log)"
	is "$(awk '/^string_table/ { sub("string_table: ", ""); s[n++] = $0 }
		/^sample \{/ { samples++ } /^    key:/ { k[++m] = $2 } /^    str:/ { v[m] = $2 }
		END { for (i = 1; i <= m; i++) if (s[k[i]] == "\"rank\"" && s[v[i]] == "\"5\"") r++;
		print r == samples }' \
		decoded)" 1 "pprof: each sample has its rank"
else
	skip "pprof: each sample has its rank" "protoc is missing"
fi

is "$(xpumerge new.data -f folded --by rank,node,pod,container,job 2>log | cut -d ';' -f 1-5 |
	sort -u)" "[rank 5];[node node:1];[pod ml/train-0];[container 0123456789ab];[job 4711]" \
		"folded: --by shows the labels"
is "$(xpumerge old.data -f folded --by rank,node,pod,container,job 2>log | cut -d ';' -f 1-5 |
	sort -u)" "[rank unknown];[node node];[pod unknown];[container unknown];[job unknown]" \
		"folded: --by shows missing labels as unknown"
like "$(xpumerge new.data -f html --by job,rank 2>log)" '\[rank 5\]' "html: --by shows the labels"
like "$(xpumerge new.data --by rank 2>log)" '\[rank 5\] > app > main > Model::step' \
	"text: --by distinguishes launch paths"
like "$(xpumerge new.data --by rank --csv --table launch_sites 2>log)" '"\[rank 5\];main;' \
	"csv: --by distinguishes launch paths"
is "$(xpumerge new.data --csv --table processes 2>log | tail -n 1 | cut -d , -f 6-)" \
	'5,1,8,4,1,100,"node;1","4711","0","run 7","train-0","ml","01234567-89ab-cdef-0123-456789abcdef","0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","app"' \
	"csv: the table of processes has the labels"
is "$(xpumerge old.data --csv --table processes 2>log | wc -l)" 1 \
	"csv: if no process has labels, the table of processes has no rows"

# The old recording has the same device work. In a merge of both recordings, each rank keeps its own
# work.
for list in 5 0,5 4-6 5-5; do
	is "$(xpumerge new.data old.data -f folded --unit count --rank $list 2>log |
		awk '{ n += $NF } END { print n }')" \
		"$(xpumerge new.data -f folded --unit count 2>/dev/null |
		awk '{ n += $NF } END { print n }')" \
			"--rank $list keeps this rank's device work"
done
is "$(xpumerge new.data old.data -f folded --rank 0-4,6-4000000000 2>log | wc -l)" 0 \
	"--rank that selects no recorded rank keeps nothing"
like "$(cat log)" "left out: .*filters: --rank 0-4,6-4000000000" \
	"--rank of other ranks: the account says how much is left out"
for list in '' x -1 5- 6-5 5,,6 5-6-7 99999999999; do
	xpumerge new.data -f folded --rank="$list" >out 2>log
	is "$? $(wc -l <log)" "2 1" "--rank '$list': refused, with one line"
done
done_testing
