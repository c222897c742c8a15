#!/bin/sh
# SPDX-License-Identifier: MIT
# Real launchers: Slurm (a controller and two nodes, started on this machine), Open MPI, MPICH, and
# torchrun's variables inside Slurm. Each starts four ranks, which launch different numbers of
# kernels, so the right files, labels and counts of each rank are known. make check-launchers
# installs what this test needs.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim

shapes=$XPU_BUILD/workload/shapes
export XPULOAD shapes
dir=$PWD

# Rank N launches 100 + N kernels; $0 is the name of the variable that contains N.
# shellcheck disable=SC2016 # for the inner shell
rank='eval "n=\$$0"; exec "$shapes" $((100 + n)) 1'

# ranks PREFIX TITLE NODES: checks that PREFIX0.data to PREFIX3.data are whole, and have the ranks 0
# to 3; NODES lists each rank with its node and its number of launches
ranks() {
	is "$(echo "$1"[0-9]*.data)" "${1}0.data ${1}1.data ${1}2.data ${1}3.data" \
		"$2: each rank has a file" || diag "$(tail -n 5 launch.log)"
	for i in 0 1 2 3; do
		like "$(xpumerge -i "$1$i.data" -f folded 2>&1 >/dev/null)" \
			"launches $((100 + i)) matched $((100 + i)) unmatched 0 lost 0" \
				"$2: the launches of rank $i are exact"
	done
	# The files are not in the order of the ranks: only labels tell the rank of each file.
	is "$(xpumerge "$1"3.data "$1"1.data "$1"0.data "$1"2.data -f folded --unit count \
		--by node,rank 2>log |
		sed 's/^\[node \([^]]*\)\];\[rank \([^]]*\)\];.* \([0-9]*\)$/\2 \1 \3/' |
		awk '{ n[$1 " " $2] += $3 } END { for (i in n) print i, n[i] }' | sort |
		tr '\n' ';')" "$3" \
			"$2: --by node,rank: each rank has its node and its launches"
	like "$(cat log)" 'launches 406 matched 406 unmatched 0 lost 0' \
		"$2: the files together have all launches"
	is "$(xpumerge "$1"*.data -f folded --unit count --rank 1-2 2>/dev/null |
		awk '{ n += $NF } END { print n }')" 203 \
		"$2: --rank 1-2: shows the launches of both ranks"
}

# column PREFIX NAME: prints column NAME of the table of processes, each value once
column() {
	xpumerge "$1"*.data --gpu-only --csv --table processes 2>/dev/null | tr -d '"' |
		awk -F , -v name="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		$at != "" { print $at }' | sort -u | tr '\n' ' '
}

# lacks PROGRAM PACKAGES TITLE: succeeds, and skips a check, if PROGRAM is missing
lacks() {
	command -v "$1" >/dev/null && return 1
	skip "$3" "no $1: apt-get install $2, as make check-launchers does"
}

# ---- MPI

if ! lacks mpirun.openmpi openmpi-bin "Open MPI"; then
	# shellcheck disable=SC2016 # for the inner shell
	env -u RANK mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 \
		sh -c \
		'exec "$XPULOAD" -q -o "ompi%q{OMPI_COMM_WORLD_RANK}.data" sh -c "$0" OMPI_COMM_WORLD_RANK' "$rank" \
		>launch.log 2>&1 </dev/null
	is $? 0 "Open MPI: exit status 0" || diag "$(tail -n 5 launch.log)"
	host=$(uname -n)
	ranks ompi "Open MPI" "0 $host 100;1 $host 101;2 $host 102;3 $host 103;"
	is "$(column ompi local_rank)$(column ompi world_size)$(column ompi local_size)" \
		"0 1 2 3 4 4 " "Open MPI: local ranks and sizes are recorded"
	like "$(xpumerge dump ompi0.data)" 'LABEL misc=OPEN_MPI .* rank=0$' \
		"Open MPI: the label says that the rank comes from Open MPI"
fi
if ! lacks mpiexec.mpich mpich MPICH; then
	# shellcheck disable=SC2016 # for the inner shell
	env -u RANK mpiexec.mpich -n 4 \
		sh -c 'exec "$XPULOAD" -q -o "mpich%q{PMI_RANK}.data" sh -c "$0" PMI_RANK' \
		"$rank" >launch.log 2>&1 </dev/null
	is $? 0 "MPICH: exit status 0" || diag "$(tail -n 5 launch.log)"
	host=$(uname -n)
	ranks mpich MPICH "0 $host 100;1 $host 101;2 $host 102;3 $host 103;"
	is "$(column mpich local_rank)$(column mpich world_size)$(column mpich local_size)" \
		"0 1 2 3 4 4 " "MPICH: local ranks and sizes are recorded"
	like "$(xpumerge dump mpich0.data)" 'LABEL misc=PMI .* rank=0$' \
		"MPICH: the label says that the rank comes from PMI"
fi

# ---- Slurm: munged, a controller, two nodes

lacks slurmctld "slurmctld slurmd slurm-client munge" Slurm && done_testing
lacks slurmd "slurmctld slurmd slurm-client munge" Slurm && done_testing
lacks munged "slurmctld slurmd slurm-client munge" Slurm && done_testing

stop_slurm() {
	for file in slurmd-n1.pid slurmd-n2.pid slurmctld.pid munged.pid; do
		[ -s $file ] && kill "$(cat $file)" 2>/dev/null
	done
	for file in slurmd-n1.pid slurmd-n2.pid slurmctld.pid munged.pid; do
		[ -s $file ] && wait_for no_process "$(cat $file)"
	done
}
no_process() {
	! kill -0 "$1" 2>/dev/null
}
trap stop_slurm EXIT

host=$(uname -n)
port=$((20000 + $$ % 10000))
mkdir state spool-n1 spool-n2
(umask 077 && head -c 1024 /dev/urandom >munge.key)
cat >slurm.conf <<END
ClusterName=xputest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
PartitionName=all Nodes=n1,n2 Default=YES OverSubscribe=FORCE MaxTime=5
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2
END
export SLURM_CONF="$dir/slurm.conf"
munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" \
	--pid-file="$dir/munged.pid" \
	--log-file="$dir/munged.log" --seed-file="$dir/munged.seed" >daemons.log 2>&1 &&
	slurmctld -f "$SLURM_CONF" -c >>daemons.log 2>&1 &&
	slurmd -f "$SLURM_CONF" -N n1 >>daemons.log 2>&1 &&
	slurmd -f "$SLURM_CONF" -N n2 >>daemons.log 2>&1
if [ $? != 0 ]; then
	skip Slurm "its daemons do not start: $(tail -n 1 daemons.log)"
	done_testing
fi
both_idle() {
	[ "$(sinfo -h -N -o '%N %t' 2>/dev/null | grep -c ' idle$')" = 2 ]
}
wait_for both_idle
ok $? "Slurm: two nodes are idle" || diag "$(sinfo -N; tail -n 3 slurmctld.log slurmd-n1.log)"

# shellcheck disable=SC2016 # for the inner shell
env -u RANK timeout 120 srun -N 2 -n 4 \
	sh -c \
	'exec "$XPULOAD" -q -o "run-%q{SLURM_JOB_ID}-%q{SLURM_PROCID}.data" sh -c "$0" SLURM_PROCID' "$rank" \
	>launch.log 2>&1 </dev/null
is $? 0 "srun: exit status 0" || diag "$(tail -n 5 launch.log)"
job=$(echo run-*-0.data | sed 's/run-\(.*\)-0.data/\1/')
ranks "run-$job-" srun "0 n1 100;1 n1 101;2 n2 102;3 n2 103;"
is "$(column "run-$job-" \
	local_rank)$(column "run-$job-" \
	world_size)$(column "run-$job-" local_size)$(column "run-$job-" node_rank)" \
	"0 1 4 2 0 1 " "srun: local ranks, sizes and node ranks are recorded"
is "$(column "run-$job-" job)$(column "run-$job-" step)$(column "run-$job-" node)" "$job 0 n1 n2 " \
	"srun: job, step and nodes are recorded"

# torchrun, once on each node, in a batch job: it sets the variables for two processes on each node,
# and xpuload records both in one file.
cat >torchrun <<'END'
#!/bin/sh
for i in 0 1; do
	RANK=$((2 * SLURM_NODEID + i)) LOCAL_RANK=$i WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 GROUP_RANK=$SLURM_NODEID \
		TORCHELASTIC_RUN_ID=run7 sh -c "$1" RANK &
done
wait
END
cat >batch.sh <<'END'
#!/bin/sh
exec srun -N 2 -n 2 "$XPULOAD" -q -o 'torch%q{SLURM_NODEID}.data' sh torchrun "$1"
END
env -u RANK timeout 120 sbatch --wait -N 2 -o "$dir/batch.log" batch.sh \
	"$rank" >launch.log 2>&1 </dev/null
is $? 0 "torchrun in srun in a batch: exit status 0" || diag "$(cat launch.log batch.log)"
is "$(echo torch*.data)" "torch0.data torch1.data" "torchrun: each node has a file"
for i in 0 1; do
	like "$(xpumerge -i torch$i.data -f folded 2>&1 >/dev/null)" \
		"launches $((201 + 4 * i)) matched $((201 + 4 * i)) unmatched 0 lost 0" \
		"torchrun: the launches of node $i are exact"
done
is "$(xpumerge torch*.data -f folded --unit count --by node,rank 2>log |
	sed 's/^\[node \([^]]*\)\];\[rank \([^]]*\)\];.* \([0-9]*\)$/\2 \1 \3/' |
	awk '{ n[$1 " " $2] += $3 } END { for (i in n) print i, n[i] }' | sort | tr '\n' ';')" \
	"0 n1 100;1 n1 101;2 n2 102;3 n2 103;" \
	"torchrun: torchrun's ranks are shown, instead of srun's ranks"
is "$(column torch world_size)$(column torch local_size)$(column torch run)" "4 2 run7 " \
	"torchrun: sizes and the name of the run are recorded"
like "$(column torch job)" '^[0-9]+ $' "torchrun: the job's number is from Slurm"
done_testing
