// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONG_BYTES	(16u << 20)

/* The first definitions start at this offset, after the head. */
#define BEGIN		((sizeof(struct journal_head) + 4095) & ~4095ull)

int journal__open(struct journal *j, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	void *head;

	memset(j, 0, sizeof(*j));
	j->fd = fd;
	if (size < 0 || (fd >= 0 && size < (off_t)BEGIN && ftruncate(fd, BEGIN)))
		return -errno;
	head = mmap(NULL, sizeof(*j->head), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (head == MAP_FAILED)
		return -errno;
	j->head = head;
	j->state = j->head->states[j->head->current & 1];
	return 0;
}

void journal__close(struct journal *j, bool stays)
{
	if (j->outfile.packer)
		outfile__close(&j->outfile);
	if (j->head && !stays)
		munmap(j->head, sizeof(*j->head));
}

/*
 * Return: all committed definitions, which the caller frees; NULL if memory is short or the file is
 * too short.
 */
static uint8_t *journal__read(const struct journal *j, size_t size)
{
	uint8_t *data = malloc(size ?: 1);
	size_t done = 0;
	ssize_t n = 1;

	while (data && done < size && n > 0) {
		n = pread(j->fd, data + done, size - done, j->state.saved_at + done);
		done += n > 0 ? n : 0;
	}
	if (done == size)
		return data;
	free(data);
	return NULL;
}

int journal__recall(struct journal *j, struct xpu_file_header *hdr, struct block_unpacker *unpacker,
		    uint8_t *records, int (*take)(void *ctx, size_t bytes), void *ctx)
{
	size_t size = j->state.end - j->state.saved_at, at = sizeof(*hdr), header_bytes;
	struct xpu_record_block h;
	uint8_t *data;
	int err = 0;

	if (j->fd < 0 || j->state.saved_at < BEGIN || size < sizeof(*hdr))
		return 0;
	data = journal__read(j, size);
	if (!data)
		return -ENOMEM;
	memcpy(hdr, data, sizeof(*hdr));
	while (!err && at < size) {
		header_bytes = block__header(data + at, size - at, &h);
		if (!header_bytes || h.hdr.size > size - at || h.raw_bytes > XPU_BLOCK_MAX)
			break;
		err = block_unpacker__unpack(unpacker, &h, data + at + header_bytes, records);
		err = err ?: take(ctx, h.raw_bytes);
		at += h.hdr.size;
	}
	free(data);
	return err ?: 1;
}

void journal__commit(struct journal *j)
{
	uint32_t next = !(j->head->current & 1);

	if (j->outfile.packer)
		outfile__flush(&j->outfile);
	if (j->outfile.packer && !j->outfile.err)
		j->state.end = j->base + j->outfile.written;
	j->head->states[next] = j->state;
	__atomic_store_n(&j->head->current, next, __ATOMIC_RELEASE);
}

int journal__save(struct journal *j, const struct xpu_file_header *hdr, struct carry *c,
		  struct kept *k, uint64_t number, uint64_t time_ns)
{
	struct {
		struct xpu_record_part r;
		char no_name[8];
	} part = {
		.r = { .hdr = { XPU_RECORD_PART, 0, sizeof(part) },
		       .time_ns = time_ns,
		       .number = number,
		       .first_mono_ns = hdr->start_mono_ns },
	};
	int fd, err;

	if (j->fd < 0) {
		journal__commit(j);
		return 0;
	}
	if (j->outfile.packer)
		outfile__close(&j->outfile);
	fd = fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/*
	 * Append the new definitions, so that the old definitions stay valid until the new ones are
	 * complete.
	 */
	j->base = lseek(fd, 0, SEEK_END);
	err = outfile__begin(&j->outfile, fd, hdr, 0);
	if (err)
		return err;
	outfile__append(&j->outfile, &part.r.hdr);
	carry__save(c, &j->outfile, time_ns);
	err = kept__step(k, &j->outfile, SPLIT_SAVE, time_ns);
	outfile__flush(&j->outfile);
	err = err ?: j->outfile.err;
	if (err)
		return err;
	j->state.saved_at = j->base;
	journal__commit(j);
	j->saved_bytes = j->outfile.written;
	fallocate(j->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BEGIN, j->base - BEGIN);
	return 0;
}

void journal__add(struct journal *j, const struct xpu_record *rec)
{
	if (j->outfile.packer)
		outfile__append(&j->outfile, rec);
}

void journal__add_nested(struct journal *j, uint32_t proc_id, const struct xpu_record *rec)
{
	struct xpu_record_batch *r;

	if (!j->outfile.packer)
		return;
	r = outfile__reserve(&j->outfile, sizeof(*r) + rec->size);
	if (!r)
		return;
	*r = (struct xpu_record_batch){
		.hdr = { XPU_RECORD_BATCH, XPU_MISC_BATCH_CARRIED, sizeof(*r) + rec->size },
		.proc_id = proc_id, .bytes = rec->size,
	};
	memcpy(r->records, rec, rec->size);
}

bool journal__is_long(const struct journal *j)
{
	return j->outfile.packer && j->outfile.written > 2 * j->saved_bytes + LONG_BYTES;
}
