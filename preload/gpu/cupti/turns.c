// SPDX-License-Identifier: MIT
#include "gpu/cupti/turns.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/libc.h"
#include "gpu/cupti/stalls.h"

#define TURN_WAIT_S	1		/* how long one wait for a launch's turn may take */
#define MAX_TURN_WAITS	30		/* maximum number of waits for a turn, if other turns end
					 * meanwhile */

static sem_t turn;			/* held during a launch */
static atomic_uint nr_turns;		/* number of turns that are over */
static atomic_uint nr_without_turn;	/* number of launches in progress without a turn */

static __thread unsigned int depth __attribute__((tls_model("initial-exec")));
static __thread bool has_turn __attribute__((tls_model("initial-exec")));

void turns__init(void)
{
	sem_init(&turn, 0, 1);
}

/*
 * Waits for this launch's turn. Return: whether the launch has the turn. If no turn ends for a
 * while, the launch continues without a turn, because the program may make launches wait for each
 * other.
 */
static bool take_turn(void)
{
	unsigned int seen;
	int i;

	for (i = 0; i < MAX_TURN_WAITS; i++) {
		seen = atomic_load(&nr_turns);
		if (libc__wait_seconds(&turn, TURN_WAIT_S))
			return true;
		if (atomic_load(&nr_turns) == seen)
			break;
	}
	return false;
}

void turns__enter(uint32_t id)
{
	if (depth++)
		return;
	has_turn = take_turn();
	atomic_fetch_add(&nr_without_turn, !has_turn);
	stalls__set_launch(has_turn ? id : 0);
	if (atomic_load(&nr_without_turn))
		stalls__set_launch(0);
}

void turns__leave(void)
{
	if (!depth || --depth)
		return;
	stalls__drain();
	atomic_fetch_sub(&nr_without_turn, !has_turn);
	if (!has_turn)
		return;
	atomic_fetch_add(&nr_turns, 1);
	sem_post(&turn);
}
