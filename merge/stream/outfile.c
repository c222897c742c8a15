// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES	(256u * 1024)	/* usual size of the records in a block */

static void outfile__write(struct outfile *p, const void *data, size_t len)
{
	const uint8_t *at = data;
	ssize_t n;

	while (len && !p->err) {
		n = write(p->file.fd, at, len);
		if (n < 0 && errno != EINTR)
			p->err = -errno;
		if (n > 0) {
			at += n;
			len -= n;
			p->written += n;
		}
	}
}

static int outfile__start(struct outfile *p, const struct xpu_file_header *hdr, int level)
{
	struct xpu_file_header sealed = *hdr;

	p->packer = block_packer__new(level);
	p->records = malloc(XPU_BLOCK_MAX);
	file_header__seal(&sealed);
	if (p->packer && p->records)
		outfile__write(p, &sealed, sizeof(sealed));
	else
		p->err = -ENOMEM;
	p->safe = p->written;
	return p->err ?: safefile__commit(&p->file);
}

/* If @err is an error, frees the file. Return: @err. */
static int outfile__abandon(struct outfile *p, int err)
{
	if (!err)
		return 0;
	close(p->file.fd);
	safefile__close(&p->file);
	block_packer__free(p->packer);
	free(p->records);
	memset(p, 0, sizeof(*p));
	return err;
}

int outfile__open(struct outfile *p, const char *path, const struct xpu_file_header *hdr, int level)
{
	int err;

	memset(p, 0, sizeof(*p));
	err = safefile__open(&p->file, AT_FDCWD, path, SAFEFILE_PRIVATE | SAFEFILE_NO_WAIT);
	return err ?: outfile__abandon(p, outfile__start(p, hdr, level));
}

int outfile__begin(struct outfile *p, int fd, const struct xpu_file_header *hdr, int level)
{
	memset(p, 0, sizeof(*p));
	p->file = (struct safefile){ .fd = fd, .dir_fd = -1 };
	return outfile__abandon(p, outfile__start(p, hdr, level));
}

int outfile__resume(struct outfile *p, int fd, uint64_t bytes, uint64_t nr_blocks,
		    uint64_t nr_launches)
{
	memset(p, 0, sizeof(*p));
	p->file = (struct safefile){ .fd = fd, .dir_fd = -1 };
	p->written = p->safe = bytes;
	p->packer = block_packer__new(0);
	p->records = malloc(XPU_BLOCK_MAX);
	if (!p->packer || !p->records)
		return outfile__abandon(p, -ENOMEM);
	block_packer__resume(p->packer, nr_blocks, nr_launches);
	return 0;
}

void outfile__flush(struct outfile *p)
{
	const struct xpu_record_block *b;

	if (!p->used)
		return;
	b = p->err ? NULL : block_packer__pack(p->packer, p->records, p->used);
	if (b) {
		outfile__write(p, b, b->hdr.size);
		p->nr_blocks = b->number + 1;
		p->nr_launches = b->launches_before + b->nr_launches;
	} else {
		p->err = p->err ?: -ENOMEM;
	}
	p->since += p->used;
	p->used = 0;
}

int outfile__checkpoint(struct outfile *p)
{
	outfile__flush(p);
	if (p->err)
		return p->err;
	p->safe = p->written;
	p->since = 0;
	return 0;
}

void *outfile__reserve(struct outfile *p, size_t size)
{
	void *room;

	if (p->used && p->used + size > BLOCK_BYTES)
		outfile__flush(p);
	if (p->err || size > XPU_BLOCK_MAX) {
		p->since += size;
		return NULL;
	}
	room = p->records + p->used;
	p->used += size;
	return room;
}

void outfile__append(struct outfile *p, const struct xpu_record *rec)
{
	void *room = outfile__reserve(p, rec->size);

	if (room)
		memcpy(room, rec, rec->size);
}

int outfile__close(struct outfile *p)
{
	int err;

	if (!p->packer)
		return 0;
	err = outfile__checkpoint(p);
	p->nr_lost = err ? p->since : 0;
	/* If this also fails, readers skip the incomplete block. */
	if (err)
		(void)!ftruncate(p->file.fd, p->safe);
	if (close(p->file.fd) && !err)
		err = -errno;		/* NFS and disk quotas may report errors only here */
	safefile__close(&p->file);
	block_packer__free(p->packer);
	free(p->records);
	p->packer = NULL;
	p->records = NULL;
	return err;
}
