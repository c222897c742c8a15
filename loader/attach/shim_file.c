// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/shim_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/caps.h"
#include "base/mapped.h"
#include "util.h"
#include "xpu_slot.h"

/* A site that has a switch is in two groups. */
static const struct site_name {
	const char *name;
	enum site_use use;
	bool live;
	enum site_group group, switches;	/* NR_SITE_GROUPS: none */
} site_names[] = {
	{ XPU_SITE_BATCH, SITE_ALWAYS, false, SITES_BATCH, SWITCHES },
	{ XPU_SITE_LIVE_BATCH, SITE_ALWAYS, true, SITES_BATCH, SWITCHES },
	{ XPU_SITE_EARLY, SITE_EARLY, false, SITES_BATCH, NR_SITE_GROUPS },
	{ XPU_SITE_RANGE, SITE_RANGE, false, SITES_BATCH, SWITCHES },
	{ XPU_SITE_LIVE_RANGE, SITE_RANGE, true, SITES_BATCH, SWITCHES },
	{ XPU_SITE_LOG, SITE_ALWAYS, false, SITES_LOG, NR_SITE_GROUPS },
	{ XPU_SITE_LIVE_LOG, SITE_ALWAYS, true, SITES_LOG, NR_SITE_GROUPS },
	{ XPU_SITE_PATH, SITE_ALWAYS, false, SITES_PATH, NR_SITE_GROUPS },
	{ XPU_SITE_LIVE_PATH, SITE_ALWAYS, true, SITES_PATH, NR_SITE_GROUPS },
	{ XPU_SITE_LIVE_INIT, SITE_ALWAYS, true, SITES_INIT, NR_SITE_GROUPS },
	{ XPU_SITE_LAUNCH, SITE_ALWAYS, false, SITES_LAUNCH, SWITCHES_LAUNCH },
	{ XPU_SITE_LIVE_LAUNCH, SITE_ALWAYS, true, SITES_LAUNCH, SWITCHES_LAUNCH },
	{ XPU_SITE_LIVE_API, SITE_API, true, NR_SITE_GROUPS, SWITCHES },
	{ XPU_SITE_LIVE_STALLS, SITE_STALLS, true, NR_SITE_GROUPS, SWITCHES },
	{ XPU_SITE_LIVE_MEMORY, SITE_MEMORY, true, NR_SITE_GROUPS, SWITCHES },
	{ XPU_SITE_HELLO, SITE_ALWAYS, true, NR_SITE_GROUPS, SWITCHES_HELLO },
};

/* ---- probe sites ----------------------------------------------------------------------------- */

static bool vaddr_to_offset(Elf *elf, uint64_t vaddr, uint64_t *offset)
{
	size_t i, nr;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz) {
			*offset = vaddr - ph.p_vaddr + ph.p_offset;
			return true;
		}
	}
	return false;
}

static bool symbol_offset(Elf *elf, const char *name, uint64_t *offset)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf_Data *data;
	const char *s;
	size_t i;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		for (i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
			if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF)
				continue;
			s = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (s && !strcmp(s, name))
				return vaddr_to_offset(elf, sym.st_value, offset);
		}
	}
	return false;
}

/* Finds a site; with @is_switch, the site's switch and semaphore. */
static bool find_site(Elf *elf, const struct site_name *n, bool is_switch, struct site *site)
{
	char symbol[64];

	*site = (struct site){ .use = n->use, .live = n->live };
	snprintf(symbol, sizeof(symbol), "%s%s", n->name, is_switch ? XPU_SWITCH_SUFFIX : "");
	if (!symbol_offset(elf, symbol, &site->at))
		return false;
	snprintf(symbol, sizeof(symbol), "%s" XPU_SEMAPHORE_SUFFIX, n->name);
	return !is_switch || symbol_offset(elf, symbol, &site->semaphore);
}

static bool find_sites(Elf *elf, struct sites *sites)
{
	const struct site_name *n;

	memset(sites, 0, sizeof(*sites));
	for (n = site_names; n < site_names + ARRAY_SIZE(site_names); n++) {
		if (n->group != NR_SITE_GROUPS &&
		    !find_site(elf, n, false, &sites->site[n->group][sites->nr[n->group]++]))
			return false;
		if (n->switches != NR_SITE_GROUPS &&
		    !find_site(elf, n, true, &sites->site[n->switches][sites->nr[n->switches]++]))
			return false;
	}
	return true;
}

/*
 * Whether the shim may be used. If xpuload's file has capabilities, the shim must belong to root or
 * to that file's owner: xpuload looks for the shim next to itself, and a user may link xpuload into
 * any directory.
 */
static bool is_trusted(int fd)
{
	struct stat shim, self;

	if (!caps__from_file())
		return true;
	return !fstat(fd, &shim) && !stat("/proc/self/exe", &self) && S_ISREG(shim.st_mode) &&
	       (shim.st_uid == self.st_uid || !shim.st_uid) &&
	       !(shim.st_mode & (S_IWGRP | S_IWOTH));
}

int shim_file__open(const char *path, struct sites *sites, char *why, size_t len)
{
	int fd, err = 0;
	Elf *elf;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = -errno;
		snprintf(why, len, "cannot open the shim %s: %s", path, strerror(-err));
		return err;
	}
	if (!is_trusted(fd)) {
		snprintf(why, len, "%s is not used with capabilities: it must be a file of "
			 "xpuload's owner that nobody else can write", path);
		close(fd);
		return -EACCES;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || !find_sites(elf, sites)) {
		snprintf(why, len, "%s has no probe sites: not a libxpushim.so, or one of another "
			 "version", path);
		err = -ENOEXEC;
	}
	elf_end(elf);
	if (err)
		close(fd);
	return err ?: fd;
}

/* ---- in other processes ---------------------------------------------------------------------- */

static bool same_bytes(int a, int b)
{
	uint8_t of_a[16384], of_b[sizeof(of_a)];
	off_t at = 0;
	ssize_t n;

	do {
		n = pread(a, of_a, sizeof(of_a), at);
		if (n < 0 || pread(b, of_b, sizeof(of_b), at) != n || memcmp(of_a, of_b, n))
			return false;
		at += n;
	} while (n);
	return true;
}

/*
 * Compares @fd, opened with O_PATH, with the file @ours. Return: 0, -ESTALE if they differ, or
 * another negative errno.
 */
static int compare(int fd, const char *ours)
{
	int a = -1, b = open(ours, O_RDONLY | O_CLOEXEC), err = b < 0 ? -errno : 0;
	struct stat sa, sb;
	char self[64];

	if (!err && (fstat(fd, &sa) || fstat(b, &sb)))
		err = -errno;
	if (err || (sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino))
		goto out;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (S_ISREG(sa.st_mode))
		a = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (a < 0 || sa.st_size != sb.st_size || !same_bytes(a, b))
		err = -ESTALE;
out:
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return err;
}

int shim_file__open_mapped(pid_t pid, const char *ours)
{
	char maps[64], *line = NULL, *name;
	int fd = -ENOENT, err;
	uint64_t start, end;
	size_t cap = 0;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "re");
	if (!f)
		return -errno;
	while (fd == -ENOENT && getline(&line, &cap, f) > 0) {
		name = strchr(line, '/');
		if (!name || !strstr(name, "/libxpushim.so") ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
			continue;
		name[strcspn(name, "\n")] = '\0';
		fd = mapped__open(pid, start, end - start, name, false);
		if (fd < 0)
			fd = errno == ENOENT ? -ESTALE : -errno;	/* the file was replaced */
	}
	free(line);
	fclose(f);
	err = fd < 0 ? fd : compare(fd, ours);
	if (fd >= 0 && err)
		close(fd);
	return err ?: fd;
}
