// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/origin.h"

int origin__read(const struct found *f, struct model *m, uint32_t path_id, uint32_t thread_id,
		 struct launch *l, uint32_t *procp, uint32_t *pathp)
{
	uint32_t path = NO_INDEX, proc = *procp;
	int err, nr_bad = 0;

	l->thread = NO_INDEX;
	if (!idmap__get(&f->threads, thread_id, &l->thread))
		nr_bad++;
	if (path_id && !idmap__get(&f->paths, path_id, &path))
		nr_bad++;

	if (proc != NO_INDEX) {
		if (l->thread != NO_INDEX && m->threads.v[l->thread].proc != proc) {
			l->thread = NO_INDEX;
			nr_bad++;
		}
	} else if (l->thread != NO_INDEX) {
		proc = m->threads.v[l->thread].proc;
	} else if (path != NO_INDEX) {
		proc = m->paths.v[path].proc;
	} else {
		/* proc_id 0 stands for an unknown process. */
		err = machine__proc(&m->machine, 0, &proc);
		if (err)
			return err;
	}
	/* Addresses of another process mean nothing here. */
	if (path != NO_INDEX && m->paths.v[path].proc != proc) {
		path = NO_INDEX;
		nr_bad++;
	}
	if (path != NO_INDEX)
		err = chains__of_path(&m->chains, &m->paths.v[path], path, l->time_ns,
				      &l->chain);
	else
		err = chains__of_label(&m->chains, proc, LABEL_NO_PATH, &l->chain);
	if (err)
		return err;
	if (l->thread != NO_INDEX)
		l->comm = model__thread_comm(m, &m->threads.v[l->thread], l->time_ns);
	else
		l->comm = model__proc_comm(m, proc, l->time_ns);
	*procp = proc;
	*pathp = path;
	return nr_bad;
}
