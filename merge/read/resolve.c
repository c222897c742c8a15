// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

/*
 * The shim uses this callback id for an explicit call that creates a graph node, because the shim
 * does not know the call's own id.
 */
#define DOMAIN_RESOURCE		3	/* CUPTI_CB_DOMAIN_RESOURCE */
#define CBID_GRAPHNODE_CREATED	13	/* CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED */

static int resolve_path(const struct found *f, struct model *m, struct path *path)
{
	const struct xpu_record_callchain *rec = path->rec;
	const struct proc *proc = &m->machine.procs.v[path->proc];
	enum xpu_call_class class;
	const char *name;

	if (proc->pid)
		path->image = machine__image(&m->machine, proc->pid, rec->time_ns);
	if (rec->hdr.misc & XPU_CHAIN_CPU)
		return 0;
	name = found__api_name(f, path->proc, rec->domain, rec->cbid);
	class = found__api_class(f, path->proc, rec->domain, rec->cbid);
	/*
	 * A graph launch has records of all its nodes, and an unknown call may be a graph launch.
	 */
	path->one_record = class ? class == XPU_CALL_IS_LAUNCH || class == XPU_CALL_IS_COPY :
			   name && !strcasestr(name, "graph");
	if (name && *name)
		path->api = strpool__intern(&m->strings, name, strlen(name));
	else if (rec->domain == DOMAIN_RESOURCE && rec->cbid == CBID_GRAPHNODE_CREATED)
		path->api = strpool__internf(&m->strings, "[graph node made]");
	else
		path->api = strpool__internf(&m->strings, "[api %u:%u]", rec->domain, rec->cbid);
	return path->api ? 0 : -ENOMEM;
}

static int resolve_paths(const struct found *f, struct model *m)
{
	size_t i;
	int err = 0;

	for (i = f->first_path; i < m->paths.nr && !err; i++)
		err = resolve_path(f, m, &m->paths.v[i]);
	return err;
}

/* Collects the end times of processes. */
static int resolve_exits(struct found *f, struct machine *m)
{
	bool ends_seen = false;
	uint32_t replaced;
	size_t i;
	int err = 0;

	for (i = f->first_proc; i < m->procs.nr && !err; i++) {
		const struct proc *p = &m->procs.v[i];

		ends_seen |= p->exited;
		if (p->exited)
			err = array_push(&f->exits, ((struct exit_at){ p->pid, p->exit_ns }));
	}
	/* An image that was replaced by an exec has ended, too, but its pid is still in use. */
	for (i = f->first_proc; i < m->procs.nr; i++) {
		const struct proc *p = &m->procs.v[i];

		if (p->how == XPU_MISC_PROCESS_EXEC &&
		    idmap__get(&m->procs_by_id, p->parent_proc_id, &replaced) &&
		    !m->procs.v[replaced].exited) {
			m->procs.v[replaced].exited = true;
			m->procs.v[replaced].exit_ns = p->time_ns;
		}
	}
	found__sort_exits(f);
	f->ends_known = ends_seen;
	return err;
}

/* If a process was recorded from its start, counts everything that it sent. */
static void resolve_sent(struct found *f, const struct machine *m)
{
	size_t i;

	for (i = 0; i < f->sent.nr; i++) {
		if (f->sent.v[i].carried ||
		    m->procs.v[f->first_proc + i].how == XPU_MISC_PROCESS_ATTACH)
			continue;
		f->sent.v[i].baseline = 0;
		f->sent.v[i].first = &counters__none;
	}
}

static int resolve_devices(const struct found *f, struct model *m)
{
	int err = 0;

	array_each_while(&f->device_defs, def, !err) {
		err = gpus__define(&m->gpus, SCOPE(def->proc, XPU_API(def->rec->hdr.misc)),
				   def->rec->device, def->rec->uuid,
				   found__string(f, def->proc, def->rec->name),
				   def->rec->hdr.size < sizeof(*def->rec) ?
				   NULL : &def->rec->limits);
	}
	array_each_while(&f->stream_defs, def, !err) {
		struct stream stream = {
			.proc = def->proc,
			.context = def->rec->context,
			.stream = def->rec->stream,
			.known = true,
		};

		err = gpus__get(&m->gpus, SCOPE(def->proc, XPU_API(def->rec->hdr.misc)),
				def->rec->device, &stream.gpu);
		err = err ?: array_push(&m->streams, stream);
	}
	return err;
}

int found__resolve(struct found *f, struct model *m)
{
	int err = machine__finish(&m->machine);

	if (err)
		return err;
	kallsyms__finish(&f->kallsyms);
	recorded_names__finish(&f->names);
	err = resolve_exits(f, &m->machine);
	f->ends_known &= model__input(m)->ended;
	resolve_sent(f, &m->machine);
	err = err ?: resolve_devices(f, m);
	return err ?: resolve_paths(f, m);
}
