// SPDX-License-Identifier: MIT
#include "base/launcher_labels.h"

#include <stdbool.h>
#include <string.h>

#include "base/number.h"

#define NR_NUMBERS	XPU_LABEL_NODE_RANK
#define FIRST_LAUNCHER	XPU_LABEL_BY_TORCH
#define LAST_LAUNCHER	XPU_LABEL_BY_SLURM
#define UNKNOWN		UINT32_MAX
#define MAX_NUMBER	INT32_MAX

struct variable {
	uint16_t source, label;
	const char *name;
};

/*
 * Variables with numbers, in the order of enum xpu_label_source: each launcher may run inside the
 * launchers listed after it.
 */
static const struct variable numbers[] = {
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_RANK, "RANK" },
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_LOCAL_RANK, "LOCAL_RANK" },
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_WORLD_SIZE, "WORLD_SIZE" },
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_LOCAL_SIZE, "LOCAL_WORLD_SIZE" },
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_NODE_RANK, "GROUP_RANK" },
	{ XPU_LABEL_BY_JAX, XPU_LABEL_RANK, "JAX_PROCESS_ID" },
	{ XPU_LABEL_BY_JAX, XPU_LABEL_RANK, "JAX_PROCESS_INDEX" },
	{ XPU_LABEL_BY_JAX, XPU_LABEL_WORLD_SIZE, "JAX_NUM_PROCESSES" },
	{ XPU_LABEL_BY_JAX, XPU_LABEL_WORLD_SIZE, "JAX_PROCESS_COUNT" },
	/* OMPI_COMM_WORLD_NODE_RANK is left out: it numbers processes on a node, not nodes. */
	{ XPU_LABEL_BY_OPEN_MPI, XPU_LABEL_RANK, "OMPI_COMM_WORLD_RANK" },
	{ XPU_LABEL_BY_OPEN_MPI, XPU_LABEL_LOCAL_RANK, "OMPI_COMM_WORLD_LOCAL_RANK" },
	{ XPU_LABEL_BY_OPEN_MPI, XPU_LABEL_WORLD_SIZE, "OMPI_COMM_WORLD_SIZE" },
	{ XPU_LABEL_BY_OPEN_MPI, XPU_LABEL_LOCAL_SIZE, "OMPI_COMM_WORLD_LOCAL_SIZE" },
	{ XPU_LABEL_BY_MVAPICH, XPU_LABEL_RANK, "MV2_COMM_WORLD_RANK" },
	{ XPU_LABEL_BY_MVAPICH, XPU_LABEL_LOCAL_RANK, "MV2_COMM_WORLD_LOCAL_RANK" },
	{ XPU_LABEL_BY_MVAPICH, XPU_LABEL_WORLD_SIZE, "MV2_COMM_WORLD_SIZE" },
	{ XPU_LABEL_BY_MVAPICH, XPU_LABEL_LOCAL_SIZE, "MV2_COMM_WORLD_LOCAL_SIZE" },
	{ XPU_LABEL_BY_PMI, XPU_LABEL_RANK, "PMI_RANK" },
	{ XPU_LABEL_BY_PMI, XPU_LABEL_LOCAL_RANK, "MPI_LOCALRANKID" },
	{ XPU_LABEL_BY_PMI, XPU_LABEL_WORLD_SIZE, "PMI_SIZE" },
	{ XPU_LABEL_BY_PMI, XPU_LABEL_LOCAL_SIZE, "MPI_LOCALNRANKS" },
	{ XPU_LABEL_BY_PMIX, XPU_LABEL_RANK, "PMIX_RANK" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_RANK, "SLURM_PROCID" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_LOCAL_RANK, "SLURM_LOCALID" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_WORLD_SIZE, "SLURM_STEP_NUM_TASKS" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_WORLD_SIZE, "SLURM_NTASKS" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_NODE_RANK, "SLURM_NODEID" },
};

/* Variables with texts. Each label gets the first variable that is set. */
static const struct variable texts[] = {
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_JOB, "SLURM_JOB_ID" },
	{ XPU_LABEL_BY_PBS, XPU_LABEL_JOB, "PBS_JOBID" },
	{ XPU_LABEL_BY_LSF, XPU_LABEL_JOB, "LSB_JOBID" },
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_JOB, "TORCHELASTIC_RUN_ID" },
	{ XPU_LABEL_BY_PMIX, XPU_LABEL_JOB, "PMIX_NAMESPACE" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_STEP, "SLURM_STEP_ID" },
	{ XPU_LABEL_BY_TORCH, XPU_LABEL_RUN, "TORCHELASTIC_RUN_ID" },
	{ XPU_LABEL_BY_SLURM, XPU_LABEL_NODE, "SLURMD_NODENAME" },
	{ XPU_LABEL_BY_KUBERNETES, XPU_LABEL_NODE, "NODE_NAME" },
	{ XPU_LABEL_BY_KUBERNETES, XPU_LABEL_POD, "POD_NAME" },
	{ XPU_LABEL_BY_KUBERNETES, XPU_LABEL_POD, "HOSTNAME" },
	{ XPU_LABEL_BY_KUBERNETES, XPU_LABEL_NAMESPACE, "POD_NAMESPACE" },
};

static void refuse(struct launcher_labels *all, const char *name)
{
	if (!all->nr_refused++)
		all->refused = name;
}

static const struct label *find(const struct launcher_labels *all, uint16_t label)
{
	size_t i;

	for (i = 0; i < all->nr; i++)
		if (all->v[i].label == label)
			return &all->v[i];
	return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Return: the value of @text; UNKNOWN unless it is decimal digits that fit. */
static uint32_t number(const char *text)
{
	unsigned int n;

	return number__read(&text, &n) && !*text && n <= MAX_NUMBER ? n : UNKNOWN;
}

static uint32_t read_number(struct launcher_labels *all, uint16_t source, uint16_t label,
			    char *(*get)(const char *name))
{
	const char *text;
	uint32_t n;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		text = numbers[i].source == source && numbers[i].label == label ?
		       get(numbers[i].name) : NULL;
		if (!text)
			continue;
		n = number(text);
		if (n != UNKNOWN)
			return n;
		refuse(all, numbers[i].name);
	}
	return UNKNOWN;
}

/*
 * Reads Slurm's count of tasks on each node of a step: "2,4(x3)" means 2 on node 0, 4 on nodes 1 to
 * 3.
 * Return: the count for @node, or UNKNOWN.
 */
static uint32_t tasks_on_node(const char *text, uint32_t node)
{
	unsigned int tasks, nodes;
	uint64_t nr_before = 0;

	while (text && number__read(&text, &tasks)) {
		nodes = 1;
		if (!strncmp(text, "(x", 2)) {
			text += 2;
			if (!number__read(&text, &nodes) || *text++ != ')')
				return UNKNOWN;
		}
		nr_before += nodes;
		if (node < nr_before)
			return tasks <= MAX_NUMBER ? tasks : UNKNOWN;
		text = *text == ',' ? text + 1 : NULL;
	}
	return UNKNOWN;
}

static const char *name_of_rank(uint16_t source)
{
	size_t i;

	for (i = 0; numbers[i].source != source; i++)
		;
	return numbers[i].name;
}

/*
 * Reads a launcher's numbers into @n. Return: whether they have a rank, and agree with one another.
 */
static bool read_launcher(struct launcher_labels *all, uint16_t source, uint32_t n[NR_NUMBERS],
			  char *(*get)(const char *name))
{
	uint32_t *rank = &n[XPU_LABEL_RANK - 1], *local = &n[XPU_LABEL_LOCAL_RANK - 1];
	uint32_t *size = &n[XPU_LABEL_WORLD_SIZE - 1], *local_size = &n[XPU_LABEL_LOCAL_SIZE - 1];
	size_t i;

	n[0] = read_number(all, source, XPU_LABEL_RANK, get);
	if (*rank == UNKNOWN)
		return false;
	for (i = 1; i < NR_NUMBERS; i++)
		n[i] = read_number(all, source, i + 1, get);
	if (source == XPU_LABEL_BY_SLURM && n[XPU_LABEL_NODE_RANK - 1] != UNKNOWN)
		*local_size = tasks_on_node(get("SLURM_STEP_TASKS_PER_NODE"),
					    n[XPU_LABEL_NODE_RANK - 1]);
	if (*size != UNKNOWN && *rank >= *size) {
		refuse(all, name_of_rank(source));
		return false;
	}
	if (*local_size != UNKNOWN && (*size != UNKNOWN && *local_size > *size))
		*local_size = UNKNOWN;
	if (*local != UNKNOWN && ((*local_size != UNKNOWN && *local >= *local_size) ||
				  (*size != UNKNOWN && *local >= *size)))
		*local = *local_size = UNKNOWN;
	return true;
}

static void read_numbers(struct launcher_labels *all, char *(*get)(const char *name))
{
	const size_t rank = XPU_LABEL_RANK - 1, size = XPU_LABEL_WORLD_SIZE - 1;
	uint32_t n[NR_NUMBERS], first[NR_NUMBERS];
	bool found = false;
	uint16_t source;
	size_t k;

	for (source = FIRST_LAUNCHER; source <= LAST_LAUNCHER; source++) {
		if (!read_launcher(all, source, n, get))
			continue;
		if (!found)
			for (k = 0; k < NR_NUMBERS; k++)
				first[k] = UNKNOWN;
		else if (n[rank] != first[rank] ||
			 (n[size] != UNKNOWN && first[size] != UNKNOWN && n[size] != first[size]))
			continue;
		found = true;
		for (k = 0; k < NR_NUMBERS; k++) {
			if (first[k] != UNKNOWN || n[k] == UNKNOWN)
				continue;
			first[k] = n[k];
			all->v[all->nr++] = (struct label){
				.label = k + 1, .source = source, .number = n[k],
			};
		}
	}
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Return: the length of @text with its NUL; 0 if it is empty, too long or not printable. */
static size_t text_bytes(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127 || i == XPU_LABEL_TEXT_MAX - 1)
			return 0;
	return i ? i + 1 : 0;
}

void launcher_labels__read(struct launcher_labels *all, char *(*get)(const char *name))
{
	bool in_pod = get("KUBERNETES_SERVICE_HOST");
	const char *text;
	size_t i, bytes;

	all->nr = all->nr_refused = 0;
	all->refused = NULL;
	read_numbers(all, get);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		text = get(texts[i].name);
		if (!text || find(all, texts[i].label) ||
		    (texts[i].source == XPU_LABEL_BY_KUBERNETES && !in_pod))
			continue;
		/* torchrun's name for a run that the user has not named. */
		if (texts[i].source == XPU_LABEL_BY_TORCH && !strcmp(text, "none"))
			continue;
		bytes = text_bytes(text);
		if (!bytes) {
			refuse(all, texts[i].name);
			continue;
		}
		all->v[all->nr] =
			(struct label){ .label = texts[i].label, .source = texts[i].source };
		memcpy(all->v[all->nr++].text, text, bytes);
	}
}
