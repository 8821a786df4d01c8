/* SPDX-License-Identifier: BSD-3-Clause */
/* Unpacked debug files; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/core.h"

/* The copy of libc's debug file has 10 MB. Larger ones belong to large programs, which run long. */
#define COPY_MAX (UINT64_C(64) << 20)
#define TOTAL_MAX (UINT64_C(256) << 20)
#define ID_MAX 64

/* ---- where ---- */

/* Returns whether PATH is a directory of the user's, with none of the permissions in NOT. Nothing
 * is written to other users' directories: root with a user's HOME (sudo) would leave files there
 * that the user could not replace. */
static bool is_own(const char *path, mode_t not )
{
	struct stat st;

	return *path == '/' && !stat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & not );
}

/* Returns PARENT/NAME and frees PARENT. Returns NULL if PARENT is NULL or not the user's. */
static char *inside(char *parent, const char *name, bool make)
{
	char *path = parent && is_own(parent, 0) ? ct_memory_printf("%s/%s", parent, name) : NULL;

	free(parent);
	if (path && make)
		mkdir(path, 0700);
	return path;
}

static char *directory(bool make)
{
	const char *given = getenv("CPROF_CACHE"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char *path;

	if (given)
		path = ct_memory_strdup(given);
	else if (cache && *cache == '/')
		path = inside(ct_memory_strdup(cache), "cprof", make);
	else
		path = inside(home ? inside(ct_memory_strdup(home), ".cache", make) : NULL, "cprof",
			      make);
	/* Whoever could replace the directory would choose where files are removed. */
	if (path && *path == '/' && !ct_directory_is_own(path))
		return path;
	free(path);
	return NULL;
}

static char *path_of(const uint8_t *id, size_t size, bool make)
{
	char hex[2 * ID_MAX + 1], *in = size && size <= ID_MAX ? directory(make) : NULL, *path;

	if (!in)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	path = ct_memory_printf("%s/%s.debug", in, hex);
	free(in);
	return path;
}

char *ct_dwarf_unpacked_path(const uint8_t *id, size_t size)
{
	return path_of(id, size, false);
}

/* ---- room ---- */

/* Is NAME the name of a copy, or of its temporary file (core/target.c)? The user may have other
 * files in the directory. */
static bool is_copy(const char *name)
{
	static const char hex[] = "0123456789abcdef";
	bool temporary = *name == '.';
	size_t n = strspn(name + temporary, hex);
	const char *end = name + temporary + n;

	if (!n || n > 2 * ID_MAX || strncmp(end, ".debug", 6))
		return false;
	end += 6;
	return temporary ? *end == '.' && strspn(end + 1, hex) == 16 && !end[17] : !*end;
}

/* Returns the total size of the copies in DIR, and puts the name of the oldest one into OLDEST. */
static uint64_t measure_copies(DIR *dir, char *oldest, size_t size)
{
	struct timespec first = { 0 };
	uint64_t total = 0;
	struct dirent *e;
	struct stat st;

	*oldest = '\0';
	rewinddir(dir);
	while ((e = readdir(dir))) {
		if (!is_copy(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		total += (uint64_t)st.st_size;
		if (*oldest &&
		    (st.st_mtim.tv_sec > first.tv_sec ||
		     (st.st_mtim.tv_sec == first.tv_sec && st.st_mtim.tv_nsec >= first.tv_nsec)))
			continue;
		first = st.st_mtim;
		snprintf(oldest, size, "%s", e->d_name);
	}
	return total;
}

/* Removes the oldest files beside PATH until SIZE more bytes fit. Temporary files count, so one
 * that a killed process left is removed in its turn. */
static bool make_room(const char *path, uint64_t size)
{
	char *in = ct_memory_printf("%.*s", (int)(strrchr(path, '/') - path), path);
	DIR *dir = opendir(in);
	char oldest[NAME_MAX + 1];
	bool fits = false;

	free(in);
	while (dir && !(fits = measure_copies(dir, oldest, sizeof(oldest)) + size <= TOTAL_MAX))
		if (!*oldest || unlinkat(dirfd(dir), oldest, 0))
			break;
	if (dir)
		closedir(dir);
	return fits;
}

/* ---- the copy ---- */

/* Returns whether SCN is compressed by zlib and one of those that are read. Others are copied as
 * they are; zstd's are unpacked in a tenth of the time. */
static bool is_to_unpack(Elf *elf, size_t names, Elf_Scn *scn, GElf_Shdr *h)
{
	const char *name = gelf_getshdr(scn, h) ? elf_strptr(elf, names, h->sh_name) : NULL;
	GElf_Chdr packed;

	return name && h->sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &packed) &&
	       packed.ch_type == ELFCOMPRESS_ZLIB && ct_dwarf_file_reads(name);
}

/* Returns the size of the copy, or 0 if there is nothing to unpack. */
static uint64_t size_of(Elf *elf, size_t names)
{
	uint64_t size = 0;
	bool any = false;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h = { 0 };
		GElf_Chdr packed;

		if (is_to_unpack(elf, names, scn, &h) && gelf_getchdr(scn, &packed)) {
			any = true;
			size += packed.ch_size < COPY_MAX ? packed.ch_size : COPY_MAX;
		} else if (h.sh_type != SHT_NOBITS) {
			size += h.sh_size < COPY_MAX ? h.sh_size : COPY_MAX;
		}
	}
	return any ? size : 0;
}

static bool copy_header(Elf *to, Elf *from)
{
	size_t count = 0;
	GElf_Ehdr e;
	GElf_Phdr p;

	if (!gelf_getehdr(from, &e) || !gelf_newehdr(to, gelf_getclass(from)) ||
	    !gelf_update_ehdr(to, &e) || elf_getphdrnum(from, &count) || count > INT16_MAX)
		return false;
	if (count && !gelf_newphdr(to, count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!gelf_getphdr(from, (int)i, &p) || !gelf_update_phdr(to, (int)i, &p))
			return false;
	return true;
}

static bool copy_section(Elf *to, Elf *from, size_t names, Elf_Scn *scn)
{
	Elf_Scn *fresh = elf_newscn(to);
	Elf_Data *data, *copy = fresh ? elf_newdata(fresh) : NULL;
	GElf_Shdr h;

	if (!copy || (is_to_unpack(from, names, scn, &h) && elf_compress(scn, 0, 0) < 0))
		return false;
	data = elf_rawdata(scn, NULL);
	if (!data || !gelf_getshdr(scn, &h))
		return false;
	*copy = *data;
	return gelf_update_shdr(fresh, &h) != 0;
}

static bool copy_all(int fd, Elf *from, size_t names)
{
	Elf *to = elf_begin(fd, ELF_C_WRITE, NULL);
	bool done = to && copy_header(to, from);
	Elf_Scn *scn = NULL;

	while (done && (scn = elf_nextscn(from, scn)))
		done = copy_section(to, from, names, scn);
	done = done && elf_update(to, ELF_C_WRITE) > 0;
	elf_end(to);
	return done;
}

static bool write_copy(const char *path, Elf *from, size_t names)
{
	struct ct_target t;

	if (ct_target_open(&t, path))
		return false;
	return !ct_target_close(&t, copy_all(fileno(t.to), from, names) ? 0 : -EIO);
}

/* The limit for file sizes that the profiled program set may be below the copy's size. Then writing
 * must fail, and not end this process. */
static bool keep_copy(const uint8_t *id, size_t id_size, Elf *from, size_t names, uint64_t size)
{
	char *path = path_of(id, id_size, true);
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	bool kept = path && make_room(path, size) && write_copy(path, from, names);

	signal(SIGXFSZ, before);
	free(path);
	return kept;
}

bool ct_dwarf_unpacked_keep(const uint8_t *id, size_t id_size, int fd)
{
	uint64_t size = 0;
	bool kept = false;
	struct stat st;
	size_t names;
	Elf *from;

	/* A copy is used for every module with this build id, whoever made it. */
	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()))
		return false;

	elf_version(EV_CURRENT);
	from = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (from && !elf_getshdrstrndx(from, &names))
		size = size_of(from, names);
	if (size && size <= COPY_MAX)
		kept = keep_copy(id, id_size, from, names, size);
	elf_end(from);
	return kept;
}
