// SPDX-License-Identifier: MIT
#include "life/requests.h"

#include "base/libc.h"
#include "life/drain.h"
#include "wire/sender.h"

#define MAX_WAIT_S	60		/* maximum total wait while the process ends */

void request__init(struct request *r)
{
	sem_init(&r->done, 0, 0);
}

void request__ask(struct request *r, int seconds)
{
	atomic_fetch_add(&r->nr_wanted, 1);
	sender__wake();
	requests__wait(&r->done, seconds);
}

void request__serve(struct request *r)
{
	while (r->nr_done != atomic_load(&r->nr_wanted)) {
		r->fn();
		r->nr_done++;
		sem_post(&r->done);
	}
}

bool requests__wait(sem_t *sem, int seconds)
{
	unsigned int seen, progress = drain__progress();
	int waited = 0;

	do {
		if (libc__wait_seconds(sem, seconds))
			return true;
		seen = progress;
		progress = drain__progress();
		waited += seconds;
	} while (progress != seen && waited < MAX_WAIT_S);
	return false;
}
