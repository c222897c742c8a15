// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_origin.h"

#include "join/session_settle.h"
#include "join/session_tables.h"

static const char *const no_launch_labels[NR_LABELS] = {
	[LABEL_NO_LAUNCH] = "[no launch]",
	[LABEL_BEFORE] = "[before attach]",
	[LABEL_AFTER] = "[after detach]",
	[LABEL_NO_STACK] = "[no stack]",
};

static int session__new_chain(struct session *s, const struct chain *chain, uint32_t *idx)
{
	*idx = s->chains.nr;
	return array_push(&s->chains, *chain);
}

int session__path_chain(struct session *s, uint32_t path_idx, uint64_t time_ns,
			uint32_t *idx)
{
	struct path *path = &s->paths.v[path_idx];
	struct chain chain = {
		.proc = path->proc, .path = path_idx, .launched = NO_INDEX, .captured = NO_INDEX,
	};
	int err;

	if (path->image && path->image->epochs.nr)
		chain.epoch = image__epoch(path->image, time_ns);
	if (!chain.epoch) {
		if (path->chain == NO_INDEX) {
			err = session__new_chain(s, &chain, &path->chain);
			if (err)
				return err;
		}
		*idx = path->chain;
		return 0;
	}
	if (idmap__get(&s->tables->chains, ID_KEY(path_idx, chain.epoch), idx))
		return 0;
	err = session__new_chain(s, &chain, idx);
	return err ?: idmap__put(&s->tables->chains, ID_KEY(path_idx, chain.epoch), *idx);
}

int session__label_chain(struct session *s, uint32_t proc, enum label label, uint32_t *idx)
{
	struct chain chain = {
		.proc = proc, .path = NO_INDEX, .no_launch = no_launch_labels[label],
		.launched = NO_INDEX, .captured = NO_INDEX,
	};
	struct account *account;
	uint32_t *known;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	known = &account->label_chains[label];
	err = *known == NO_INDEX ? session__new_chain(s, &chain, known) : 0;
	*idx = *known;
	return err;
}

int session__joined_chain(struct session *s, uint32_t launched, uint32_t captured,
			  uint32_t *idx)
{
	struct chain chain = {
		.proc = s->chains.v[launched].proc, .path = NO_INDEX, .launched = launched,
		.captured = captured, .range = s->chains.v[launched].range,
	};
	uint64_t key = ID_KEY(launched, captured);
	int err;

	if (idmap__get(&s->tables->joined_chains, key, idx))
		return 0;
	err = session__new_chain(s, &chain, idx);
	return err ?: idmap__put(&s->tables->joined_chains, key, *idx);
}

const char *session__proc_comm(struct session *s, uint32_t proc, uint64_t time_ns)
{
	const struct proc *p = &s->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	if (p->pid)
		comm = machine__comm(&s->machine, p->pid, p->pid, time_ns, &from, &to);
	return comm ?: p->comm ?: UNKNOWN;
}

const char *session__proc_name(const struct session *s, uint32_t proc)
{
	const struct session_tables *t = s->tables;
	const struct proc *p = &s->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	if (p->name)
		return p->name;
	/* At a time when it surely was this image: its pid may have had others. */
	if (p->pid && proc < t->accounts.nr && t->accounts.v[proc].seen_ns)
		comm = machine__comm(&s->machine, p->pid, p->pid, t->accounts.v[proc].seen_ns,
				     &from, &to);
	comm = comm ?: p->comm;
	return comm && *comm ? comm : UNKNOWN;
}

const char *session__thread_comm(struct session *s, struct thread *thread, uint64_t time_ns)
{
	const struct proc *p = &s->machine.procs.v[thread->proc];

	if (thread->comm && thread->from_ns <= time_ns && time_ns < thread->to_ns)
		return thread->comm;
	thread->comm = NULL;
	if (p->pid)
		thread->comm = machine__comm(&s->machine, p->pid, thread->tid, time_ns,
					     &thread->from_ns, &thread->to_ns);
	if (!thread->comm) {
		/* Never heard of that thread: it goes by its process's name at that time. */
		thread->from_ns = thread->to_ns = 0;
		if (p->pid)
			thread->comm = machine__comm(&s->machine, p->pid, p->pid, time_ns,
						     &thread->from_ns, &thread->to_ns);
	}
	if (!thread->comm) {
		thread->comm = p->comm ?: UNKNOWN;
		thread->from_ns = 0;
		thread->to_ns = UINT64_MAX;
	}
	return thread->comm;
}

int session__read_origin(struct session *s, uint32_t path_id, uint32_t thread_id,
			 struct launch *l, uint32_t *procp, uint32_t *pathp)
{
	uint32_t path = NO_INDEX, proc = *procp;
	int err, nr_bad = 0;

	l->thread = NO_INDEX;
	if (!idmap__get(&s->tables->threads, thread_id, &l->thread))
		nr_bad++;
	if (path_id && !idmap__get(&s->tables->paths, path_id, &path))
		nr_bad++;

	if (proc != NO_INDEX) {
		if (l->thread != NO_INDEX && s->threads.v[l->thread].proc != proc) {
			l->thread = NO_INDEX;
			nr_bad++;
		}
	} else if (l->thread != NO_INDEX) {
		proc = s->threads.v[l->thread].proc;
	} else if (path != NO_INDEX) {
		proc = s->paths.v[path].proc;
	} else {
		/* Nothing says whose it is; proc_id 0 is nobody's. */
		err = machine__proc(&s->machine, 0, &proc);
		if (err)
			return err;
	}
	/* Addresses of another process mean nothing here. */
	if (path != NO_INDEX && s->paths.v[path].proc != proc) {
		path = NO_INDEX;
		nr_bad++;
	}
	if (path != NO_INDEX)
		err = session__path_chain(s, path, l->time_ns, &l->chain);
	else
		err = session__label_chain(s, proc, LABEL_NO_PATH, &l->chain);
	if (err)
		return err;
	if (l->thread != NO_INDEX)
		l->comm = session__thread_comm(s, &s->threads.v[l->thread], l->time_ns);
	else
		l->comm = session__proc_comm(s, proc, l->time_ns);
	*procp = proc;
	*pathp = path;
	return nr_bad;
}
