// SPDX-License-Identifier: MIT
#include "toy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct work {
	struct work *next;
	const char *kernel;
	uint64_t ns;
	uint32_t id;
};

struct toy_stream {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct work *first, **last;
	bool is_busy;
	uint32_t number;
};

static const struct toy_tracer *_Atomic tracer;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint last_id, last_stream;
static struct timespec epoch;

static void start(void)
{
	void (*inject)(void);

	clock_gettime(CLOCK_MONOTONIC, &epoch);
	*(void **)&inject = dlsym(RTLD_DEFAULT, "ToyInjection");
	if (inject)
		inject();
}

void toy_trace(const struct toy_tracer *t)
{
	atomic_store(&tracer, t);
}

uint64_t toy_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((now.tv_sec - epoch.tv_sec) * 1000000000ll + now.tv_nsec - epoch.tv_nsec) / 100;
}

static void run(struct toy_stream *s, struct work *w)
{
	struct timespec ts = { w->ns / 1000000000, w->ns % 1000000000 };
	const struct toy_tracer *t;
	uint64_t begin = toy_clock();

	if (w->ns)
		nanosleep(&ts, NULL);
	t = atomic_load(&tracer);
	if (t)
		t->done(s->number, w->id, w->kernel, begin, toy_clock());
	free(w);
}

static void *stream_thread(void *arg)
{
	struct toy_stream *s = arg;
	struct work *w;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		w = s->first;
		s->is_busy = w;
		if (!w) {
			pthread_cond_broadcast(&s->changed);
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->first = w->next;
		if (!s->first)
			s->last = &s->first;
		pthread_mutex_unlock(&s->lock);
		run(s, w);
		pthread_mutex_lock(&s->lock);
	}
	return NULL;
}

struct toy_stream *toy_stream_new(void)
{
	struct toy_stream *s = calloc(1, sizeof(*s));
	pthread_t thread;

	pthread_once(&once, start);
	if (!s)
		abort();
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->last = &s->first;
	s->number = atomic_fetch_add(&last_stream, 1) + 1;
	if (pthread_create(&thread, NULL, stream_thread, s))
		abort();
	pthread_detach(thread);
	return s;
}

void toy_launch(struct toy_stream *s, const char *kernel, uint64_t ns)
{
	const struct toy_tracer *t = atomic_load(&tracer);
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	*w = (struct work){ NULL, kernel, ns, atomic_fetch_add(&last_id, 1) + 1 };
	if (t)
		t->begins(TOY_LAUNCH, s->number, w->id);
	ns = w->id;			/* @w may be freed during the next lines */
	pthread_mutex_lock(&s->lock);
	*s->last = w;
	s->last = &w->next;
	s->is_busy = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (t)
		t->ends(TOY_LAUNCH, s->number, ns);
}

void toy_wait(struct toy_stream *s)
{
	const struct toy_tracer *t = atomic_load(&tracer);

	if (t)
		t->begins(TOY_WAIT, s->number, 0);
	pthread_mutex_lock(&s->lock);
	while (s->is_busy)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (t)
		t->ends(TOY_WAIT, s->number, 0);
}
