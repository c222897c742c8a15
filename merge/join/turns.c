// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/turns.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "join/read_job.h"
#include "symbols/name_keeper.h"

struct turns {
	struct session *s;
	size_t jobs;
	pthread_mutex_t lock;		/* protects all members below */
	pthread_cond_t changed;
	size_t next;			/* the input that is read next */
	size_t turn;			/* the input that is taken next */
	size_t met;			/* the input whose GPUs get their numbers next */
	struct gpus gpus;		/* GPUs that have numbers */
	struct strpool texts;
	uint32_t nr_procs;
	size_t failed;			/* the first input that failed; err: its error */
	int err;
	uint64_t told;			/* sum of the progress of all inputs, each up to 1000 */
};

/* the progress of one input */
struct turn_progress {
	struct turns *turns;
	unsigned int told;
};

static void turns__tell(void *ctx, unsigned int permille)
{
	struct turn_progress *p = ctx;
	struct turns *t = p->turns;
	struct passes *passes = &t->s->passes;
	unsigned int all;

	pthread_mutex_lock(&t->lock);
	t->told += permille - p->told;
	p->told = permille;
	all = t->told / passes->nr_inputs;
	if (all != passes->permille && passes->tell)
		passes->tell(passes->ctx, all);
	passes->permille = all;
	pthread_mutex_unlock(&t->lock);
}

/*
 * Reads an input with the session's own model, after all earlier inputs. Return: like turns__run().
 */
static int read_next(struct session *s, size_t nr, struct passes *passes)
{
	struct read_job job;
	int err = read_job__init(&job, s, nr, passes);

	if (err)
		return err;
	err = read_job__read(&job) ?: read_job__take(&job);
	read_job__exit(&job);
	return err;
}

int turns__next(struct session *s, size_t nr)
{
	s->passes.input = nr;
	return read_next(s, nr, &s->passes);
}

int turns__look_up(struct session *s)
{
	struct read_job job;
	int err = read_job__init(&job, s, 0, &s->passes);

	if (err)
		return err;
	err = read_job__look_up(&job) ?: name_keeper__flush(s->callchains.keeper);
	read_job__exit(&job);
	return err;
}

/* Takes the input whose turn it is, unless this or an earlier input failed. Return: 0 or -errno. */
static int turns__take(struct turns *t, struct read_job *p, struct passes *passes, int err)
{
	bool again;

	err = err ?: read_job__take(p);
	again = !err && p->again;
	read_job__exit(p);
	return again ? read_next(t->s, p->nr, passes) : err;
}

/* ---- the numbers of GPUs --------------------------------------------------------------------- */

/*
 * Return: whether the results of a read job depend on GPU numbers, so that the numbers must be
 * known while the job reads.
 */
static bool turns__number_gpus(const struct session *s)
{
	return (s->opts.sink && s->opts.sink->numbers_gpus) ||
	       (s->opts.filter && s->opts.filter->given[FILTER_DEVICE]);
}

/* Waits until all inputs before @nr have their GPU numbers. */
static void turns__wait_to_meet(struct turns *t, size_t nr)
{
	pthread_mutex_lock(&t->lock);
	while (t->met != nr)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

static void turns__have_met(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->met++;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* Numbers GPUs in the order of the inputs, as the session does. Return: see struct read_job. */
static int turns__meet(void *ctx, struct read_job *p)
{
	struct turns *t = ctx;
	int err;

	turns__wait_to_meet(t, p->nr);
	err = gpus__number(&p->model->gpus, &t->gpus, t->nr_procs);
	t->nr_procs += p->model->machine.procs.nr;
	p->meet = NULL;
	turns__have_met(t);
	return err;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Reads an input. Return: 0 or -errno; *@open: whether read_job__exit() must be called for @p. */
static int turns__read(struct turns *t, size_t nr, struct read_job *p,
		       struct turn_progress *progress, struct passes *passes, bool *open)
{
	bool meets = turns__number_gpus(t->s);
	int err;

	*progress = (struct turn_progress){ .turns = t };
	*passes = (struct passes){
		.tell = turns__tell, .ctx = progress, .permille = UINT32_MAX, .nr_inputs = 1,
	};
	if (nr + t->jobs < t->s->model.inputs.nr)
		reader__read_ahead(t->s->model.inputs.v[nr + t->jobs].reader);
	err = read_job__init_apart(p, t->s, nr, passes);
	*open = !err;
	if (!err && meets) {
		p->meet = turns__meet;
		p->meet_ctx = t;
	}
	err = err ?: read_job__read(p);
	if (meets && (!*open || p->meet)) {
		turns__wait_to_meet(t, nr);
		turns__have_met(t);
	}
	return err;
}

/* Reads and takes inputs until none are left. */
static void *turns__thread(void *ctx)
{
	struct turn_progress progress;
	struct turns *t = ctx;
	struct passes passes;
	struct read_job job;
	int err, before;
	bool open;
	size_t nr;

	pthread_mutex_lock(&t->lock);
	while (t->next < t->s->model.inputs.nr && !t->err) {
		nr = t->next++;
		pthread_mutex_unlock(&t->lock);
		err = turns__read(t, nr, &job, &progress, &passes, &open);
		pthread_mutex_lock(&t->lock);
		while (t->turn != nr)
			pthread_cond_wait(&t->changed, &t->lock);
		before = t->err;
		pthread_mutex_unlock(&t->lock);
		if (open)
			err = turns__take(t, &job, &passes, before ?: err);
		pthread_mutex_lock(&t->lock);
		if (!before) {
			t->err = err;
			t->failed = nr;
		}
		t->turn++;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Starts up to @nr threads, which handle only one signal. Return: how many were started. */
static size_t turns__start(struct turns *t, pthread_t *threads, size_t nr)
{
	sigset_t all, old;
	size_t i;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);	/* the reading thread must get this signal if the file is
					 * truncated */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, turns__thread, t))
			break;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return i;
}

static int turns__apart(struct session *s)
{
	struct turns t = { .s = s, .jobs = min_t(size_t, s->opts.jobs ?: 1, s->model.inputs.nr) };
	pthread_t *threads = calloc(t.jobs, sizeof(*threads));
	size_t nr = 0;

	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.changed, NULL);
	gpus__init(&t.gpus, &t.texts);
	/* If a thread cannot be started, the other threads read its inputs. */
	if (threads)
		nr = turns__start(&t, threads, t.jobs - 1);
	turns__thread(&t);
	while (nr--)
		pthread_join(threads[nr], NULL);
	pthread_cond_destroy(&t.changed);
	pthread_mutex_destroy(&t.lock);
	gpus__exit(&t.gpus);
	strpool__free(&t.texts);
	free(threads);
	if (t.err)
		s->passes.input = t.failed;
	return t.err;
}

int turns__run(struct session *s)
{
	const struct input *inputs = s->model.inputs.v;
	size_t nr = s->model.inputs.nr, i;
	int err = 0;

	if (nr > 1 && (!s->opts.sink || s->opts.sink->apart))
		return turns__apart(s);
	for (i = 0; i < nr && !err; i++) {
		if (i + 1 < nr)
			reader__read_ahead(inputs[i + 1].reader);
		err = turns__next(s, i);
	}
	return err;
}
