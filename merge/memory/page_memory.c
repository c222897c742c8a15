// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/results.h"

#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "memory/views.h"
#include "write/page_json.h"
#include "write/shorten.h"

/* Prints which memory the page shows; "" if it shows times. */
static void print_memory(struct json_out *j, const struct session *s)
{
	static const char *const views[] = {
		[MEMORY_LIVE] = "GPU memory in use at the end",
		[MEMORY_PEAK] = "GPU memory at its peak",
		[MEMORY_ALLOCATED] = "GPU memory allocated in all",
		[MEMORY_LEAKED] = "GPU memory never freed",
		[MEMORY_FAILED] = "GPU memory that CUDA refused",
	};
	enum memory_view view = memory_view(&s->opts);
	struct moments moments = memory__moments(&s->opts);
	char at[HUMAN_MAX], text[64];

	if (view == MEMORY_LIVE && moments.at_failure)
		snprintf(text, sizeof(text), "GPU memory when CUDA last refused");
	else if (view == MEMORY_LIVE && moments.nr)
		snprintf(text, sizeof(text), "GPU memory in use at %s",
			 human__time(at, moments.at_ns[moments.nr - 1]));
	else
		snprintf(text, sizeof(text), "%s", views[view] ?: "");
	json_out__key(j, "memory");
	json_out__string(j, text);
	json_out__line(j, 0);
}

/* Prints the frames of a call path, root first, as an array. */
static void print_path(struct json_out *j, char *path)
{
	const char frame[] = { SHORTEN_FRAME, '\0' };
	char *rest = NULL, *name;

	page__open_array(j, "path");
	for (name = strtok_r(path, frame, &rest); name; name = strtok_r(NULL, frame, &rest))
		json_out__string(j, name);
	json_out__close(j, ']');
}

/* Prints when most memory was in use, and who held most of it. Return: 0 or -ENOMEM. */
static int print_peak(struct json_out *j, const struct session *s)
{
	struct memory_peak peak;
	int err = memory__peak(s, &peak);

	json_out__key(j, "peak");
	if (err || !peak.bytes) {
		json_out__literal(j, "null");
		goto out;
	}
	json_out__open(j, '{');
	json_out__member_u64(j, "bytes", peak.bytes);
	json_out__member_u64(j, "at_ns", peak.at_ns);
	json_out__member_u64(j, "nr_recordings", peak.nr_recordings);
	json_out__member_u64(j, "used", heap_parts__used(&peak.parts));
	json_out__member_u64(j, "blocks", peak.parts.blocks);
	json_out__member_u64(j, "outside", peak.parts.outside);
	json_out__member_u64(j, "reserved", heap_parts__reserved(&peak.parts));
	json_out__member_u64(j, "fragmentation", peak.parts.fragmentation);
	json_out__member_u64(j, "unused", peak.parts.unused);
	json_out__member_u64(j, "rest", peak.parts.rest);
	json_out__member_u64(j, "host", peak.host_bytes);
	json_out__member_u64(j, "held", heap_parts__held(&peak.parts) + peak.host_bytes);
	if (peak.holder) {
		json_out__member_u64(j, "holder_bytes", peak.holder_bytes);
		print_path(j, peak.holder);
	}
	json_out__close(j, '}');
out:
	json_out__line(j, 0);
	free(peak.holder);
	return err;
}

int memory__page_head(const struct session *s, struct json_out *j)
{
	print_memory(j, s);
	return print_peak(j, s);
}
