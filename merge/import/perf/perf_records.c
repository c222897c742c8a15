// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/perf/perf_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "import/perf/kernel_list.h"

/* The name that perf gives to the kernel image. */
#define KERNEL_NAME	"[kernel.kallsyms]"

struct teller {
	struct perf_data *d;
	struct import *im;
	struct perf_told *told;
	uint64_t shift_ns;
	struct kernel_list ksyms;
	struct idmap pids;		/* maps a pid to an index in images */
	ARRAY(uint32_t) images;		/* for each process: unique number of its current image */
	uint32_t nr_images;
	struct idmap chains;		/* maps (image, chain) to a path of the import */
	struct idmap threads;		/* threads of the import that have at least one sample */
	struct idmap named;		/* addresses of the kernel functions already named */
	ARRAY(uint64_t) words;
	ARRAY(uint64_t) stack;		/* the data of an XPU_RECORD_STACK */
};

/* ---- the kernel ------------------------------------------------------------------------------ */

static const uint8_t *perf_data__build_id(const struct perf_data *d, const char *name)
{
	uint32_t i;

	return idmap__get(&d->build_ids, strpool__id(name), &i) ?
		&d->ids.v[i * (1 + XPU_BUILD_ID_LEN)] : NULL;
}

/* Return: whether the recorded kernel is this machine's kernel, judged by host and kernel names. */
static bool perf_data__is_of_here(const struct perf_data *d)
{
	struct utsname here;

	return !uname(&here) && span__is(d->release, here.release) &&
	       span__is(d->hostname, here.nodename);
}

/*
 * Loads the list of kernel functions. perf copies this list when it records. If the copy is
 * missing, and the recording may be from this machine and boot, reads this machine's list.
 */
static int teller__load_kernel(struct teller *t, const char *buildid_dir)
{
	const char *home = getenv("HOME"), *name;
	char hex[2 * XPU_BUILD_ID_LEN + 1], *path = NULL;
	const uint8_t *id;
	int err = 0, len, i;

	if (!t->d->kernel_symbol || !t->d->kernel_text)
		return 0;
	name = strpool__intern(&t->d->strings, KERNEL_NAME, strlen(KERNEL_NAME));
	if (!name)
		return -ENOMEM;
	id = perf_data__build_id(t->d, name);
	for (i = 0; id && i < id[0]; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[1 + i]);
	if (id && id[0] && (buildid_dir || home)) {
		len = asprintf(&path, "%s%s/" KERNEL_NAME "/%s/kallsyms", buildid_dir ?: home,
			       buildid_dir ? "" : "/.debug", hex);
		if (len < 0)
			return -ENOMEM;
		err = kernel_list__load(&t->ksyms, path, t->d->kernel_symbol, t->d->kernel_text);
		free(path);
	}
	if (!err && perf_data__is_of_here(t->d))
		err = kernel_list__load(&t->ksyms, "/proc/kallsyms", t->d->kernel_symbol,
				  t->d->kernel_text);
	return min_t(int, err, 0);
}

static void teller__kernel_symbol(struct teller *t, uint64_t start, uint64_t end, struct span name)
{
	struct xpu_record_ksym rec = { .start = start, .end = end };
	char text[1024];

	rec.bytes = min_t(size_t, name.len, sizeof(text) - 1) + 1;
	memcpy(text, name.s, rec.bytes - 1);
	text[rec.bytes - 1] = 0;
	import__record(t->im, XPU_RECORD_KSYM, 0, &rec, sizeof(rec), text, rec.bytes);
}

/* Adds the name of the kernel function that contains @address, unless it was added before. */
static void teller__name_kernel(struct teller *t, uint64_t address)
{
	uint64_t end;
	int err;
	const struct ksym *s = kernel_list__find(&t->ksyms, address, &end);

	if (!s || t->im->err)
		return;
	err = idmap__add(&t->named, s->address, 0);
	if (err > 0)
		teller__kernel_symbol(t, s->address, end, s->name);
	t->im->err = min_t(int, err, 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void teller__mmap(struct teller *t, const struct perf_side *s)
{
	const uint8_t *id = perf_data__build_id(t->d, s->name);
	struct xpu_record_mmap rec = {
		.time_ns = s->time_ns, .pid = s->pid, .tid = s->tid, .start = s->start,
		.len = s->len, .pgoff = s->pgoff, .ino = s->ino, .dev_major = s->major,
		.dev_minor = s->minor, .prot = s->prot, .flags = s->flags,
	};
	uint16_t misc = s->time_ns ? 0 : XPU_MISC_MMAP_SYNTH;
	size_t len = min_t(size_t, strlen(s->name), 4095);
	char name[4096];

	if (s->build_id) {
		rec.build_id_len = s->build_id_len;
		memcpy(rec.build_id, s->build_id, s->build_id_len);
	} else if (id && id[0]) {
		rec.build_id_len = id[0];
		memcpy(rec.build_id, id + 1, id[0]);
	}
	if (rec.build_id_len)
		misc |= XPU_MISC_MMAP_BUILD_ID;
	memcpy(name, s->name, len);
	name[len] = 0;
	import__record(t->im, XPU_RECORD_MMAP, misc, &rec,
		       offsetof(struct xpu_record_mmap, filename), name, len + 1);
}

static void teller__comm(struct teller *t, const struct perf_side *s)
{
	struct xpu_record_comm rec = { .time_ns = s->time_ns, .pid = s->pid, .tid = s->tid };

	strncpy(rec.comm, s->name, sizeof(rec.comm) - 1);
	import__record(t->im, XPU_RECORD_COMM, s->exec ? XPU_MISC_COMM_EXEC : 0, &rec, sizeof(rec),
		       NULL, 0);
}

static void teller__task(struct teller *t, const struct perf_side *s, uint16_t type)
{
	struct xpu_record_task rec = {
		.time_ns = s->time_ns, .pid = s->pid, .tid = s->tid, .ppid = s->ppid,
		.ptid = s->ptid,
	};

	import__record(t->im, type, 0, &rec, sizeof(rec), NULL, 0);
}

/*
 * Sets *@image to the image of a process. @new makes a new image, in which the same address may
 * belong to another file. Return: 0 or -ENOMEM.
 */
static int teller__image(struct teller *t, uint32_t pid, bool new, uint32_t *image)
{
	uint32_t i;
	int err = 0;

	if (!idmap__get(&t->pids, pid, &i)) {
		i = t->images.nr;
		err = idmap__put(&t->pids, pid, i) ?: array_push(&t->images, t->nr_images++);
	} else if (new) {
		t->images.v[i] = t->nr_images++;
	}
	if (!err)
		*image = t->images.v[i];
	return err;
}

static int teller__side(struct teller *t, struct perf_side *s)
{
	uint32_t image;

	/* Mappings and names from before the recording have no time: keep 0. */
	if (s->time_ns)
		s->time_ns += t->shift_ns;
	switch (s->kind) {
	case PERF_SIDE_MMAP:
		teller__mmap(t, s);
		return 0;
	case PERF_SIDE_COMM:
		teller__comm(t, s);
		return s->exec ? teller__image(t, s->pid, true, &image) : 0;
	case PERF_SIDE_FORK:
		teller__task(t, s, XPU_RECORD_FORK);
		return s->pid != s->ppid ? teller__image(t, s->pid, true, &image) : 0;
	case PERF_SIDE_EXIT:
		teller__task(t, s, XPU_RECORD_EXIT);
		break;
	}
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

/*
 * Return: the path of a chain in @image; each path is made only once. @kernel_only: leave out
 * user frames
 */
static uint32_t teller__path(struct teller *t, uint32_t image, uint32_t proc,
			     const struct perf_sample *s, bool kernel_only)
{
	size_t nr = t->d->chain_bytes.v[s->stack] / sizeof(uint64_t), i;
	/*
	 * The key need not say whether there are user frames, because either all chains of an event
	 * have user frames, or none has.
	 */
	uint64_t key = ID_KEY(image, s->stack);
	uint32_t path;

	if (t->im->err || idmap__get(&t->chains, key, &path))
		return t->im->err ? 0 : path;
	t->im->err = array_reserve(&t->words, nr + 1);
	if (t->im->err)
		return 0;
	memcpy(t->words.v, t->d->chain_words.v[s->stack], nr * sizeof(*t->words.v));
	for (i = 0; i < nr && XPU_FRAME_IS_KERNEL(t->words.v[i]); i++)
		teller__name_kernel(t, t->words.v[i]);
	if (kernel_only)
		nr = i;
	path = import__cpu_chain(t->im, proc, s->time_ns, t->words.v, nr);
	t->im->err = t->im->err ?: idmap__put(&t->chains, key, path);
	return path;
}

/* Adds a sample whose stack will be unwound later. */
static void teller__stack(struct teller *t, const struct perf_sample *s, uint32_t path,
			  uint32_t thread, uint32_t ns)
{
	const struct perf_user_stack *copy = &t->d->copies.v[s->copy - 1];
	uint64_t before = copy->regs[XPU_REG_SP] % XPU_STACK_BLOCK;
	size_t nr = (before + copy->bytes + XPU_STACK_BLOCK - 1) / XPU_STACK_BLOCK;
	size_t bitmap = (nr + 63) / 64, bytes = bitmap * sizeof(uint64_t) + nr * XPU_STACK_BLOCK, i;
	struct xpu_record_stack rec = {
		.time_ns = s->time_ns, .path_id = path, .thread_id = thread, .period_ns = ns,
		.cpu = s->cpu, .bytes = copy->bytes,
	};

	memcpy(rec.regs, copy->regs, sizeof(rec.regs));
	t->im->err = t->im->err ?: array_reserve(&t->stack, bytes / sizeof(uint64_t));
	if (t->im->err)
		return;
	memset(t->stack.v, 0, bytes);
	for (i = 0; i < nr; i++)
		t->stack.v[i / 64] |= 1ull << i % 64;
	memcpy((uint8_t *)(t->stack.v + bitmap) + before, copy->stack, copy->bytes);
	import__see_sample(t->im, s->time_ns);
	import__record(t->im, XPU_RECORD_STACK, 0, &rec, sizeof(rec), t->stack.v, bytes);
}

static int teller__sample(struct teller *t, struct perf_sample *s)
{
	uint32_t ns = perf_event__ns(&t->d->events.v[s->event], s), image, proc, thread, path;
	struct perf_told *told = t->told;
	struct import *im = t->im;
	int err;

	s->time_ns += t->shift_ns;
	err = teller__image(t, s->pid, false, &image);
	if (err)
		return err;
	proc = import__find_process(im, s->pid) ?: import__process(im, s->pid, "", s->time_ns);
	thread = import__find_thread(im, proc, s->tid) ?: import__thread(im, proc, s->tid);
	path = teller__path(t, image, proc, s, s->copy);
	if (im->err)
		return im->err;
	err = idmap__add(&t->threads, thread, 0);
	if (err < 0)
		return err;
	told->nr_threads += err;
	if (s->copy && ns)
		teller__stack(t, s, path, thread, ns);
	else
		import__sample(im, s->time_ns, path, thread, s->cpu, ns);
	told->nr_samples++;
	told->samples_ns += ns;
	told->first_ns = min_t(uint64_t, told->first_ns, s->time_ns);
	told->last_ns = max_t(uint64_t, told->last_ns, s->time_ns);
	return im->err;
}

int perf_data__tell(struct perf_data *d, struct import *im, uint64_t shift_ns,
		    const char *buildid_dir, struct perf_told *told)
{
	struct teller t = { .d = d, .im = im, .told = told, .shift_ns = shift_ns };
	struct xpu_record_lost lost = { .kind = XPU_LOST_SAMPLE, .count = d->nr_lost };
	size_t i, side = 0;
	int err;

	*told = (struct perf_told){ .first_ns = UINT64_MAX };
	err = teller__load_kernel(&t, buildid_dir);
	for (i = 0; i < d->bpf.nr; i++)
		teller__kernel_symbol(&t, d->bpf.v[i].start, d->bpf.v[i].end,
				      span__of(d->bpf.v[i].name));
	for (i = 0; i < d->samples.nr && !err; i++) {
		if (!d->events.v[d->samples.v[i].event].used)
			continue;
		while (!err && side < d->sides.nr &&
		       d->sides.v[side].time_ns <= d->samples.v[i].time_ns)
			err = teller__side(&t, &d->sides.v[side++]);
		err = err ?: teller__sample(&t, &d->samples.v[i]);
	}
	while (!err && side < d->sides.nr)
		err = teller__side(&t, &d->sides.v[side++]);
	if (d->nr_lost)
		import__record(im, XPU_RECORD_LOST, 0, &lost, sizeof(lost), NULL, 0);
	array_free(&t.stack);
	array_free(&t.words);
	idmap__free(&t.named);
	idmap__free(&t.threads);
	idmap__free(&t.chains);
	array_free(&t.images);
	idmap__free(&t.pids);
	kernel_list__free(&t.ksyms);
	return err ?: im->err;
}
