// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES	(256u * 1024)	/* of records in a block, most often */

static void part__write(struct part *p, const void *data, size_t len)
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
		}
	}
}

int part__open(struct part *p, const char *path, const struct xpu_file_header *hdr, int level)
{
	struct xpu_file_header sealed = *hdr;
	int err;

	memset(p, 0, sizeof(*p));
	err = safefile__open(&p->file, AT_FDCWD, path, SAFEFILE_PRIVATE | SAFEFILE_NO_WAIT);
	if (err)
		return err;
	p->packer = block_packer__new(level);
	p->records = malloc(XPU_BLOCK_MAX);
	file_header__seal(&sealed);
	if (p->packer && p->records)
		part__write(p, &sealed, sizeof(sealed));
	else
		p->err = -ENOMEM;
	err = p->err ?: safefile__commit(&p->file);
	if (!err)
		return 0;
	close(p->file.fd);
	safefile__close(&p->file);
	block_packer__free(p->packer);
	free(p->records);
	memset(p, 0, sizeof(*p));
	return err;
}

void part__flush(struct part *p)
{
	const struct xpu_record_block *b;

	if (!p->used)
		return;
	b = p->err ? NULL : block_packer__pack(p->packer, p->records, p->used);
	if (b)
		part__write(p, b, b->hdr.size);
	else
		p->err = p->err ?: -ENOMEM;
	if (p->err)
		p->nr_lost += p->used;
	p->used = 0;
}

void *part__reserve(struct part *p, size_t size)
{
	void *room;

	if (p->used && p->used + size > BLOCK_BYTES)
		part__flush(p);
	if (p->err || size > XPU_BLOCK_MAX) {
		p->nr_lost += size;
		return NULL;
	}
	room = p->records + p->used;
	p->used += size;
	return room;
}

void part__append(struct part *p, const struct xpu_record *rec)
{
	void *room = part__reserve(p, rec->size);

	if (room)
		memcpy(room, rec, rec->size);
}

int part__close(struct part *p)
{
	int err;

	if (!p->packer)
		return 0;
	part__flush(p);
	err = p->err;
	if (close(p->file.fd) && !err)
		err = -errno;		/* NFS and quotas report errors only now */
	safefile__close(&p->file);
	block_packer__free(p->packer);
	free(p->records);
	p->packer = NULL;
	p->records = NULL;
	return err;
}
