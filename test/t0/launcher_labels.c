// SPDX-License-Identifier: MIT
/*
 * Labels of a process: which of several variables wins, which values are refused, and where the
 * labels come from if the process has no labels of its own.
 */
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/launcher_labels.h"
#include "tap.h"

/* The environment of a case: names and values alternate. */
static const char *const *variables;

static char *get(const char *name)
{
	size_t i;

	for (i = 0; variables[i]; i += 2)
		if (!strcmp(variables[i], name))
			return (char *)variables[i + 1];
	return NULL;
}

static struct launcher_labels all;

/*
 * Prints the labels found, as "rank=5:1 ... job=4711:7": each value is followed by the number of
 * its source.
 */
static const char *read_all(const char *const *env)
{
	static const char *const names[] = {
		[XPU_LABEL_RANK] = "rank", [XPU_LABEL_LOCAL_RANK] = "local",
		[XPU_LABEL_WORLD_SIZE] = "size", [XPU_LABEL_LOCAL_SIZE] = "local_size",
		[XPU_LABEL_NODE_RANK] = "node_rank", [XPU_LABEL_JOB] = "job",
		[XPU_LABEL_STEP] = "step", [XPU_LABEL_RUN] = "run", [XPU_LABEL_NODE] = "node",
		[XPU_LABEL_POD] = "pod", [XPU_LABEL_NAMESPACE] = "namespace",
	};
	static char text[4096];
	size_t i, at = 0;

	variables = env;
	launcher_labels__read(&all, get);
	text[0] = '\0';
	for (i = 0; i < all.nr; i++) {
		const struct label *l = &all.v[i];

		at += XPU_LABEL_IS_TEXT(l->label) ?
		      snprintf(text + at, sizeof(text) - at, " %s=%s", names[l->label], l->text) :
		      snprintf(text + at, sizeof(text) - at, " %s=%u", names[l->label], l->number);
		at += snprintf(text + at, sizeof(text) - at, ":%u", l->source);
	}
	return text;
}

#define READ(...)	read_all((const char *const[]){ __VA_ARGS__, NULL, NULL })
#define BATCH		"SLURM_JOB_ID", "4711", "SLURMD_NODENAME", "n1"
#define SRUN		BATCH, "SLURM_STEP_ID", "0", "SLURM_PROCID", "1", "SLURM_LOCALID", "0", \
			"SLURM_NTASKS", "2", "SLURM_STEP_NUM_TASKS", "2", "SLURM_NODEID", "1", \
			"SLURM_STEP_TASKS_PER_NODE", "1(x2)"
#define TORCHRUN	"RANK", "5", "LOCAL_RANK", "1", "WORLD_SIZE", "8", \
			"LOCAL_WORLD_SIZE", "4", "GROUP_RANK", "1"

static void test_precedence(void)
{
	is_str(READ("HOME", "/"), "", "without a launcher there are no labels");
	is_str(READ(TORCHRUN, "TORCHELASTIC_RUN_ID", "none"),
	       " rank=5:1 local=1:1 size=8:1 local_size=4:1 node_rank=1:1",
	       "torchrun without a name of the run: there is no job");
	is_str(READ(TORCHRUN, "TORCHELASTIC_RUN_ID", "r7"),
	       " rank=5:1 local=1:1 size=8:1 local_size=4:1 node_rank=1:1 job=r7:1 run=r7:1",
	       "torchrun: the run is the job");
	is_str(READ(SRUN), " rank=1:7 local=0:7 size=2:7 local_size=1:7 node_rank=1:7"
	       " job=4711:7 step=0:7 node=n1:7",
	       "srun");
	is_str(READ(SRUN, TORCHRUN, "TORCHELASTIC_RUN_ID", "r7"),
	       " rank=5:1 local=1:1 size=8:1 local_size=4:1 node_rank=1:1"
	       " job=4711:7 step=0:7 run=r7:1 node=n1:7",
	       "torchrun in srun in a batch: numbers from torchrun, the job from Slurm");
	is_str(READ(SRUN, "RANK", "1", "WORLD_SIZE", "2"),
	       " rank=1:1 size=2:1 local=0:7 local_size=1:7 node_rank=1:7"
	       " job=4711:7 step=0:7 node=n1:7",
	       "RANK that equals srun's rank: the other numbers come from srun");
	is_str(READ(SRUN, "RANK", "1", "WORLD_SIZE", "8"),
	       " rank=1:1 size=8:1 job=4711:7 step=0:7 node=n1:7",
	       "RANK equals srun's in a world of another size: srun's numbers are not used");
	is_str(READ(BATCH, "SLURM_PROCID", "0", "SLURM_NTASKS", "8", "OMPI_COMM_WORLD_RANK", "3",
		    "OMPI_COMM_WORLD_SIZE", "8", "OMPI_COMM_WORLD_LOCAL_RANK", "3",
		    "OMPI_COMM_WORLD_LOCAL_SIZE", "8", "OMPI_COMM_WORLD_NODE_RANK", "3",
		    "PMIX_RANK", "3"),
	       " rank=3:3 local=3:3 size=8:3 local_size=8:3 job=4711:7 node=n1:7",
	       "mpirun in a batch: OMPI_COMM_WORLD_NODE_RANK is not taken for a node's number");
	is_str(READ("PMI_RANK", "2", "PMI_SIZE", "4", "MPI_LOCALRANKID", "2", "MPI_LOCALNRANKS",
		    "4"),
	       " rank=2:5 local=2:5 size=4:5 local_size=4:5", "MPICH");
	is_str(READ("MV2_COMM_WORLD_RANK", "2", "MV2_COMM_WORLD_SIZE", "4"), " rank=2:4 size=4:4",
	       "MVAPICH");
	is_str(READ("PMIX_RANK", "2", "PMIX_NAMESPACE", "ns.1"), " rank=2:6 job=ns.1:6", "PMIx");
	is_str(READ("JAX_PROCESS_INDEX", "2", "JAX_NUM_PROCESSES", "4"), " rank=2:2 size=4:2",
	       "JAX");
	is_str(READ("JAX_PROCESS_ID", "1", "JAX_PROCESS_COUNT", "4"), " rank=1:2 size=4:2",
	       "JAX: other variables have the rank, too");
	is_str(READ("PBS_JOBID", "12.server"), " job=12.server:8", "PBS");
}

static void test_slurm_nodes(void)
{
	is_str(READ("SLURM_PROCID", "9", "SLURM_NODEID", "3", "SLURM_STEP_TASKS_PER_NODE",
		    "2,4(x2),3"),
	       " rank=9:7 local_size=3:7 node_rank=3:7",
	"tasks per node: the last node has its number of tasks");
	is_str(READ("SLURM_PROCID", "4", "SLURM_NODEID", "2", "SLURM_STEP_TASKS_PER_NODE",
		    "2,4(x2),3"),
	       " rank=4:7 local_size=4:7 node_rank=2:7",
	"tasks per node: a node in a range has its number of tasks");
	is_str(READ("SLURM_PROCID", "4", "SLURM_NODEID", "4", "SLURM_STEP_TASKS_PER_NODE",
		    "2,4(x2),3"),
	       " rank=4:7 node_rank=4:7", "tasks per node: a node beyond the list has no number");
	is_str(READ("SLURM_PROCID", "4", "SLURM_NODEID", "1", "SLURM_STEP_TASKS_PER_NODE", "2(x,4"),
	       " rank=4:7 node_rank=1:7", "tasks per node: an invalid list gives no number");
	is_str(READ("SLURM_PROCID", "4", "SLURM_NODEID", "1", "SLURM_STEP_TASKS_PER_NODE",
		    "4294967295(x4294967295),99999999999999999999"),
	       " rank=4:7 node_rank=1:7",
	"tasks per node: a list with too many repetitions gives no number");
}

static void test_kubernetes(void)
{
	is_str(READ("HOSTNAME", "h", "POD_NAME", "p", "NODE_NAME", "n"), "",
	       "outside of pods, the variables of pods are not used");
	is_str(READ("KUBERNETES_SERVICE_HOST", "10.0.0.1", "HOSTNAME", "train-0"),
	       " pod=train-0:10", "a pod's host name is the pod's name");
	is_str(READ("KUBERNETES_SERVICE_HOST", "10.0.0.1", "HOSTNAME", "h", "POD_NAME", "train-0",
		    "POD_NAMESPACE", "ml", "NODE_NAME", "n7"),
	       " node=n7:10 pod=train-0:10 namespace=ml:10", "the downward API's names are used");
}

static void test_refused(void)
{
	char longest[XPU_LABEL_TEXT_MAX], longer[XPU_LABEL_TEXT_MAX + 1];

	is_str(READ("RANK", "captain"), "", "a rank that is no number is refused");
	is_int(all.nr_refused, 1, "a refused value is counted");
	is_str(all.refused, "RANK", "a refused variable is named");
	is_str(READ("RANK", "-1"), "", "a negative rank is refused");
	is_str(READ("RANK", " 1"), "", "a rank with a blank in front is refused");
	is_str(READ("RANK", "1 "), "", "a rank with a blank behind is refused");
	is_str(READ("RANK", ""), "", "an empty rank is refused");
	is_str(READ("RANK", "0x1"), "", "a hexadecimal rank is refused");
	is_str(READ("RANK", "2147483647"), " rank=2147483647:1", "the largest rank is accepted");
	is_str(READ("RANK", "2147483648"), "", "a rank that is too large is refused");
	is_str(READ("RANK", "18446744073709551617"), "",
	       "a rank that needs more than 64 bits is refused");
	is_str(READ("RANK", "8", "WORLD_SIZE", "8"), "",
	       "a rank that is not below the world's size is refused");
	is_str(READ("RANK", "8", "WORLD_SIZE", "8", "PMI_RANK", "1", "PMI_SIZE", "2"),
	       " rank=1:5 size=2:5", "after a refused rank the next launcher counts");
	is_str(READ("RANK", "1", "WORLD_SIZE", "0"), "", "a world without ranks is refused");
	is_str(READ("RANK", "1", "WORLD_SIZE", "many"), " rank=1:1",
	       "a size that is no number is refused");
	is_str(READ("RANK", "1", "WORLD_SIZE", "2", "LOCAL_RANK", "4", "LOCAL_WORLD_SIZE", "4"),
	       " rank=1:1 size=2:1", "more ranks on the node than in the world are refused");
	is_str(READ("RANK", "1", "LOCAL_RANK", "2", "LOCAL_WORLD_SIZE", "2"), " rank=1:1",
	       "a local rank that is not below the node's size is refused");
	is_str(READ("SLURM_JOB_ID", "4711\n"), "", "a job with a control character is refused");
	is_str(READ("SLURM_JOB_ID", "", "PBS_JOBID", "7"), " job=7:8",
	       "an empty job is skipped, and the next variable's job counts");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	READ("SLURM_JOB_ID", longest);
	is_int(all.nr, 1, "the longest text is accepted");
	READ("SLURM_JOB_ID", longer);
	is_int(all.nr, 0, "a longer text is refused");
	is_str(READ("SLURM_JOB_ID", "\xff\xc3"), " job=\xff\xc3:7",
	       "bytes that are not UTF-8 are accepted: printing escapes them");
	is_str(READ(SRUN, TORCHRUN, "TORCHELASTIC_RUN_ID", "r", "KUBERNETES_SERVICE_HOST", "h",
		    "POD_NAME", "p", "POD_NAMESPACE", "ns", "PMIX_NAMESPACE", "x"),
	       " rank=5:1 local=1:1 size=8:1 local_size=4:1 node_rank=1:1 job=4711:7 step=0:7 "
	       "run=r:1 node=n1:7 pod=p:10 namespace=ns:10",
	       "all variables together give all labels");
	ok(all.nr <= LABELS_MAX, "the buffer can hold all labels");
}

int main(void)
{
	test_precedence();
	test_slurm_nodes();
	test_kubernetes();
	test_refused();
	return done_testing();
}
