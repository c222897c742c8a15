# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# migrations.sh - prints page migrations as test/workload/managed.cu does:
# . "$XPU_SRC/test/lib/migrations.sh"

# figures FILE...: prints "WHAT SITE NUMBER" for each figure of the table that is not 0, sorted
figures() {
	xpumerge "$@" --table memory_migrations --csv 2>merge.log | awk -F, '
		function add(what, n) { if (n) sum[what " " site] += n }
		NR > 1 {
			site = $0 ~ /several/ ? "several" : "none"
			if (match($0, /mg_site_[0-9]/))
				site = substr($0, RSTART, RLENGTH)
			add("to_gpu", $2); add("to_host", $3); add("moves", $5)
			add("gpu_faults", $7); add("cpu_faults", $8); add("thrashing", $9)
		}
		END { for (i in sum) printf "%s %.0f\n", i, sum[i] }' | sort
}
