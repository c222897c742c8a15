// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER_ID_LEN	64	/* length of a container's id, which is shortened; other
					 * names of containers are shown in full */
#define CONTAINER_SHOWN_LEN	12

void model__init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	machine__init(&m->machine, &m->strings);
	gpus__init(&m->gpus, &m->strings);
	shapes__init(&m->shapes);
	leaves__init(&m->leaves, &m->strings);
}

void model__exit(struct model *m)
{
	features__free(m->features);
	arena__free(&m->arena);
	array_free(&m->messages);
	leaves__exit(&m->leaves);
	shapes__exit(&m->shapes);
	array_free(&m->streams);
	chains__exit(&m->chains);
	array_free(&m->paths);
	array_free(&m->threads);
	ranges__exit(&m->ranges);
	captured__free(&m->captured);
	gpus__exit(&m->gpus);
	machine__exit(&m->machine);
	strpool__free(&m->strings);
	array_free(&m->infos);
	array_free(&m->inputs);
}

uint32_t model__freq_hz(const struct model *m)
{
	size_t i;

	for (i = 0; i < m->inputs.nr; i++)
		if (m->inputs.v[i].sample_period_ns)
			return 1000000000 / m->inputs.v[i].sample_period_ns;
	return 0;
}

const char *model__host(const struct model *m, uint32_t proc)
{
	return m->nr_hosts > 1 ? m->inputs.v[m->machine.procs.v[proc].recording].host : "";
}

const struct labels *model__labels(const struct model *m, uint32_t proc)
{
	static const struct labels none;
	const struct labels *labels = NULL;
	unsigned int i;

	for (i = 0; features[i] && !labels; i++)
		if (features[i]->labels && m->features[i])
			labels = features[i]->labels(m->features[i], proc);
	return labels ?: &none;
}

const char *model__node(const struct model *m, uint32_t proc)
{
	return labels__text(model__labels(m, proc), XPU_LABEL_NODE) ?:
	       m->inputs.v[m->machine.procs.v[proc].recording].host;
}

char *model__process_label(const struct model *m, uint32_t proc, enum process_label label)
{
	const struct labels *l = model__labels(m, proc);
	const char *space = labels__text(l, XPU_LABEL_NAMESPACE), *text = NULL;
	char *both;

	switch (label) {
	case PROCESS_NODE:
		text = model__node(m, proc);
		break;
	case PROCESS_POD:
		text = labels__text(l, XPU_LABEL_POD);
		if (text && space)
			return asprintf(&both, "%s/%s", space, text) < 0 ? NULL : both;
		text = text ?: labels__text(l, XPU_LABEL_POD_UID);
		break;
	case PROCESS_CONTAINER:
		text = labels__text(l, XPU_LABEL_CONTAINER);
		if (text && strlen(text) == CONTAINER_ID_LEN)
			return strndup(text, CONTAINER_SHOWN_LEN);
		break;
	case PROCESS_JOB:
		text = labels__text(l, XPU_LABEL_JOB);
		break;
	}
	return text && *text ? strdup(text) : NULL;
}

char *model__process_labels(const struct model *m, uint32_t proc)
{
	static const char *const names[] = {
		[PROCESS_NODE] = "node", [PROCESS_JOB] = "job", [PROCESS_POD] = "pod",
		[PROCESS_CONTAINER] = "container",
	};
	char *all = NULL, *text;
	const char *comma = "";
	size_t size, i;
	FILE *f = open_memstream(&all, &size);

	if (!f)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		text = model__process_label(m, proc, i);
		if (text) {
			fprintf(f, "%s%s %s", comma, names[i], text);
			comma = ", ";
		}
		free(text);
	}
	if (fclose(f)) {
		free(all);
		return NULL;
	}
	return all;
}

const char *model__proc_comm(const struct model *m, uint32_t proc, uint64_t time_ns)
{
	const struct proc *p = &m->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	if (p->pid)
		comm = machine__comm(&m->machine, p->pid, p->pid, time_ns, &from, &to);
	return comm ?: p->comm ?: UNKNOWN;
}

const char *model__proc_name(const struct model *m, uint32_t proc)
{
	const struct proc *p = &m->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	if (p->name)
		return p->name;
	/*
	 * Use a time at which the pid surely had this image: it may have had other images before or
	 * after.
	 */
	if (p->pid && p->seen_ns)
		comm = machine__comm(&m->machine, p->pid, p->pid, p->seen_ns, &from, &to);
	comm = comm ?: p->comm;
	return comm && *comm ? comm : UNKNOWN;
}

const char *model__thread_comm(const struct model *m, struct thread *thread, uint64_t time_ns)
{
	const struct proc *p = &m->machine.procs.v[thread->proc];

	if (thread->comm && thread->from_ns <= time_ns && time_ns < thread->to_ns)
		return thread->comm;
	thread->comm = NULL;
	if (p->pid)
		thread->comm = machine__comm(&m->machine, p->pid, thread->tid, time_ns,
					     &thread->from_ns, &thread->to_ns);
	if (!thread->comm) {
		/*
		 * No event names the thread, so it gets the name that its process had at that time.
		 */
		thread->from_ns = thread->to_ns = 0;
		if (p->pid)
			thread->comm = machine__comm(&m->machine, p->pid, p->pid, time_ns,
						     &thread->from_ns, &thread->to_ns);
	}
	if (!thread->comm) {
		thread->comm = p->comm ?: UNKNOWN;
		thread->from_ns = 0;
		thread->to_ns = UINT64_MAX;
	}
	return thread->comm;
}
