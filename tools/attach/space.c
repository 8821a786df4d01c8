/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory and the modules of another process; see attach.h. All is read from its memory, no file
 * of its choice is opened, and nothing that it says is believed without a bound. */
#include "attach/attach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 65536u /* of the cache: 256 MiB */
#define MAPS_MAX 200000u
#define HEADERS_MAX 64u
#define SYMBOLS_MAX 4000000u
#define MODULES_MAX 100000u
#define NAME_ROOM 128
#define READ_MAX 32768u
#define SOON_NS 300000
#define MODULE_MAX (UINT64_C(1) << 30)
/* Sanitizers have a map of all memory at a fixed address, below what the kernel gives. */
#define SHADOW_LEAST (UINT64_C(1) << 40)
#define SHADOW_BELOW UINT64_C(0x500000000000)

struct page {
	uint64_t at; /* 0: unused */
	unsigned char *bytes;
};

/* ---- memory ---- */

bool ct_space_read(const struct ct_space *s, uint64_t at, void *to, size_t n)
{
	return pread(s->memory, to, n, (off_t)at) == (ssize_t)n;
}

bool ct_space_write(const struct ct_space *s, uint64_t at, const void *from, size_t n)
{
	return pwrite(s->memory, from, n, (off_t)at) == (ssize_t)n;
}

/* A thread for reads and writes, which can't be interrupted, so that nobody else waits for them. */
struct ct_space_reader {
	pthread_t thread;
	sem_t asked, done;
	const struct ct_space *s;
	uint64_t at; /* 0: the thread ends */
	size_t n;
	bool writes, there, given_up;
	unsigned char bytes[READ_MAX];
};

static void *read_for(void *reader)
{
	struct ct_space_reader *r = reader;

	/* Our own priority isn't inherited. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	for (;;) {
		while (sem_wait(&r->asked))
			;
		if (!r->at)
			return NULL;
		r->there = r->writes ? ct_space_write(r->s, r->at, r->bytes, r->n)
				     : ct_space_read(r->s, r->at, r->bytes, r->n);
		sem_post(&r->done);
	}
}

static struct ct_space_reader *make_reader(struct ct_space *s)
{
	struct ct_space_reader *r = ct_memory_alloc(sizeof(*r));
	sigset_t all, before;

	r->s = s;
	sem_init(&r->asked, 0, 0);
	sem_init(&r->done, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&r->thread, NULL, read_for, r)) {
		free(r);
		r = NULL;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

void ct_space_settle(struct ct_space *s)
{
	if (!s->reader)
		s->reader = make_reader(s);
	while (s->reader && s->reader->given_up)
		s->reader->given_up = sem_wait(&s->reader->done) != 0;
	s->late = false;
}

/* Does it by the reader, which has the bytes. */
static bool do_soon(struct ct_space *s, uint64_t at, size_t n, bool writes)
{
	struct ct_space_reader *r = s->reader;
	struct timespec until;

	if (r->given_up)
		return false;
	r->at = at;
	r->n = n;
	r->writes = writes;
	sem_post(&r->asked);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += SOON_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	r->given_up = s->late = sem_timedwait(&r->done, &until) != 0;
	return !r->given_up && r->there;
}

bool ct_space_read_soon(struct ct_space *s, uint64_t at, void *to, size_t n)
{
	if (!s->reader || n > READ_MAX)
		return ct_space_read(s, at, to, n);
	if (!do_soon(s, at, n, false))
		return false;
	memcpy(to, s->reader->bytes, n);
	return true;
}

bool ct_space_write_soon(struct ct_space *s, uint64_t at, const void *from, size_t n)
{
	if (!s->reader || s->reader->given_up)
		return !s->reader && ct_space_write(s, at, from, n);
	memcpy(s->reader->bytes, from, n);
	return do_soon(s, at, n, true);
}

static void end_reader(struct ct_space *s)
{
	struct ct_space_reader *r = s->reader;

	if (!r)
		return;
	ct_space_settle(s);
	r->at = 0;
	sem_post(&r->asked);
	pthread_join(r->thread, NULL);
	free(r);
}

static const unsigned char *page_at(struct ct_space *s, uint64_t at)
{
	size_t i = (size_t)(at / PAGE * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (2 * PAGES);

	while (s->pages[i].at && s->pages[i].at != at)
		i = (i + 1) % (2 * PAGES);
	if (s->pages[i].bytes)
		return s->pages[i].bytes;
	if (!at || s->page_count == PAGES)
		return NULL;
	if (s->held) {
		s->wanted = at;
		return NULL;
	}
	s->page_count += !s->pages[i].at;
	s->pages[i].at = at;
	s->pages[i].bytes = ct_memory_alloc(PAGE);
	if (ct_space_read(s, at, s->pages[i].bytes, PAGE))
		return s->pages[i].bytes;
	free(s->pages[i].bytes);
	s->pages[i].bytes = NULL;
	return NULL;
}

/* Another module is there now. */
static void forget_pages(struct ct_space *s, uint64_t from, uint64_t to)
{
	for (size_t i = 0; s->page_count && i < 2 * PAGES; i++)
		if (s->pages[i].at >= from && s->pages[i].at < to) {
			free(s->pages[i].bytes);
			s->pages[i].bytes = NULL;
		}
}

bool ct_space_read_fixed(struct ct_space *s, uint64_t at, void *to, size_t n)
{
	while (n) {
		const unsigned char *page = page_at(s, at & ~(uint64_t)(PAGE - 1));
		size_t offset = at % PAGE, part = n < PAGE - offset ? n : PAGE - offset;

		if (!page)
			return false;
		memcpy(to, page + offset, part);
		to = (char *)to + part;
		at += part;
		n -= part;
	}
	return true;
}

/* ---- modules ---- */

/* Takes over what the dynamic section says of the symbols. The loader has relocated the addresses,
 * but not where the section is read-only. */
static void read_dynamic(struct ct_space *s, struct ct_space_module *m)
{
	for (unsigned i = 0; i < 512; i++) {
		Elf64_Dyn d;
		uint64_t at;

		if (!ct_space_read_fixed(s, m->dynamic + i * sizeof(d), &d, sizeof(d)) ||
		    d.d_tag == DT_NULL)
			return;
		at = d.d_un.d_ptr < m->base ? d.d_un.d_ptr + m->bias : d.d_un.d_ptr;
		switch (d.d_tag) {
		case DT_SYMTAB: m->symbols = at; break;
		case DT_STRTAB: m->strings = at; break;
		case DT_GNU_HASH: m->gnu_hash = at; break;
		case DT_STRSZ: m->string_size = d.d_un.d_val; break;
		default: break;
		}
	}
}

static void read_headers(struct ct_space *s, struct ct_space_module *m)
{
	Elf64_Ehdr e;
	bool biased = false;

	if (!ct_space_read_fixed(s, m->base, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_phentsize != sizeof(Elf64_Phdr) || e.e_machine != EM_X86_64)
		return;
	for (unsigned i = 0; i < e.e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr p;
		uint64_t end;

		if (!ct_space_read_fixed(s, m->base + e.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return;
		if (p.p_type == PT_LOAD && !biased) {
			m->bias = m->base - (p.p_vaddr & ~(uint64_t)(PAGE - 1));
			biased = true;
		}
		end = m->bias + p.p_vaddr + p.p_memsz;
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && p.p_filesz == p.p_memsz)
			m->text_end = end;
		if (p.p_type == PT_LOAD && p.p_flags & PF_W)
			m->data_end = end;
		if (p.p_type == PT_GNU_EH_FRAME)
			m->eh_frame_hdr = m->bias + p.p_vaddr;
		if (p.p_type == PT_DYNAMIC)
			m->dynamic = m->bias + p.p_vaddr;
	}
	if (m->dynamic)
		read_dynamic(s, m);
}

uint64_t ct_space_definition(struct ct_space *s, const struct ct_space_module *m, const char *name,
			     unsigned which, uint64_t *size)
{
	uint32_t header[4], hash = 5381, at, link;
	uint64_t buckets;

	if (!m->symbols || !m->strings || !m->gnu_hash || strlen(name) >= NAME_ROOM)
		return 0;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!ct_space_read_fixed(s, m->gnu_hash, header, sizeof(header)) || !header[0] ||
	    header[2] > SYMBOLS_MAX)
		return 0;
	buckets = m->gnu_hash + sizeof(header) + 8 * (uint64_t)header[2];
	if (!ct_space_read_fixed(s, buckets + 4 * (uint64_t)(hash % header[0]), &at, sizeof(at)) ||
	    at < header[1])
		return 0;
	for (link = 0; !(link & 1) && at < SYMBOLS_MAX; at++) {
		Elf64_Sym y;
		char found[NAME_ROOM] = "";

		if (!ct_space_read_fixed(s, buckets + 4 * ((uint64_t)header[0] + at - header[1]),
					 &link, 4))
			return 0;
		if ((link | 1) != (hash | 1))
			continue;
		if (!ct_space_read_fixed(s, m->symbols + at * sizeof(y), &y, sizeof(y)) ||
		    y.st_name >= m->string_size ||
		    !ct_space_read_fixed(s, m->strings + y.st_name, found, strlen(name) + 1))
			return 0;
		if (strcmp(found, name) || y.st_shndx == SHN_UNDEF || which--)
			continue;
		*size = y.st_size;
		return m->bias + y.st_value;
	}
	return 0;
}

uint64_t ct_space_symbol(struct ct_space *s, const struct ct_space_module *m, const char *name)
{
	uint64_t size;

	return ct_space_definition(s, m, name, 0, &size);
}

static enum ct_space_kind kind_of(struct ct_space *s, const struct ct_space_module *m)
{
	static const char *const libc[] = { "libc.so.",	 "libc-2.",   "libpthread",  "libdl.so.",
					    "libdl-2.",	 "librt.so.", "librt-2.",    "libnss_",
					    "libresolv", "libanl",    "libthread_db" };
	const char *name = ct_base_name(m->name);

	if (!strcmp(name, "[vdso]") || ct_starts(name, "ld-linux") || ct_starts(name, "ld-2."))
		return CT_SPACE_LOADER;
	for (size_t i = 0; i < sizeof(libc) / sizeof(*libc); i++)
		if (ct_starts(name, libc[i]))
			return CT_SPACE_LIBC;
	/* libcprof's own malloc forwards. But while its code runs, the thread is not ours. */
	return ct_space_symbol(s, m, "malloc") || ct_space_symbol(s, m, "calloc")
		       ? CT_SPACE_ALLOCATOR
		       : CT_SPACE_PROGRAM;
}

static bool is_libc(const char *name)
{
	return ct_starts(name, "libc.so.6") || ct_starts(name, "libc-2.");
}

static unsigned add_module(struct ct_space *s, const char *name, const struct ct_space_map *map)
{
	struct ct_space_module *m;
	const char *base = ct_base_name(name);

	for (unsigned i = 0; i < s->module_count; i++)
		if (s->modules[i].base == map->start && s->modules[i].inode == map->inode &&
		    !strcmp(s->modules[i].name, name))
			return i;
	for (unsigned i = 0; i < s->module_count; i++)
		if (s->modules[i].base == map->start)
			s->modules[i].base = 0;
	forget_pages(s, map->start, map->start + MODULE_MAX);
	m = CT_PUSH(s->modules, s->module_count, s->module_room);
	*m = (struct ct_space_module){ .name = ct_memory_strdup(name),
				       .base = map->start,
				       .inode = map->inode };
	read_headers(s, m);
	m->kind = kind_of(s, m);
	if (ct_starts(base, "ld-musl") || ct_starts(base, "libc.musl") || !strcmp(base, "libc.so"))
		s->musl = true;
	if (is_libc(base) && s->libc != CT_SPACE_NONE)
		s->several = true;
	else if (is_libc(base))
		s->libc = (unsigned)s->module_count - 1;
	if (ct_starts(base, "libasan.") || ct_starts(base, "libtsan.") ||
	    ct_starts(base, "libhwasan.") || ct_space_symbol(s, m, "__asan_init") ||
	    ct_space_symbol(s, m, "__tsan_init") || ct_space_symbol(s, m, "__msan_init"))
		s->sanitized = true;
	s->emulated |= ct_starts(base, "vgpreload_");
	if (!s->libcprof)
		s->libcprof = ct_space_symbol(s, m, "libcprof_attach");
	return (unsigned)s->module_count - 1;
}

/* ---- mappings ---- */

/* A module begins with a mapping of the file's begin, and has the mappings of that file that
 * follow. */
static unsigned module_of(struct ct_space *s, const struct ct_space_map *map, const char *name)
{
	const struct ct_space_map *before = s->map_count > 1 ? &s->maps[s->map_count - 2] : NULL;
	unsigned last = before ? before->module : CT_SPACE_NONE;

	if (!strcmp(name, "[vdso]") || (map->inode && !map->offset && map->prot[0] == 'r'))
		return last != CT_SPACE_NONE && map->inode == before->inode &&
				       !strcmp(s->modules[last].name, name) &&
				       map->start == before->end
			       ? last
			       : add_module(s, name, map);
	for (unsigned i = (unsigned)s->module_count; map->inode && i-- > 0;)
		if (s->modules[i].base && s->modules[i].base < map->start &&
		    s->modules[i].inode == map->inode && !strcmp(s->modules[i].name, name))
			return i;
	/* The .bss. */
	return !map->inode && !*name && before && before->end == map->start ? last : CT_SPACE_NONE;
}

/* Is it of a sanitizer? One that is linked into the program may have no symbols. */
static bool is_shadow(const struct ct_space_map *map)
{
	return !map->inode && !strcmp(map->prot, "rw-p") && map->start < SHADOW_BELOW &&
	       map->end - map->start >= SHADOW_LEAST;
}

static int read_maps(struct ct_space *s)
{
	char *path = ct_memory_printf("/proc/%d/maps", s->pid), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t room = 0;

	free(path);
	if (!f)
		return -errno;
	s->map_count = 0;
	while (s->map_count < MAPS_MAX && getline(&line, &room, f) > 0) {
		struct ct_space_map map = { .module = CT_SPACE_NONE };
		int at = 0;

		if (sscanf(line, "%lx-%lx %4s %lx %*x:%*x %lu %n", &map.start, &map.end, map.prot,
			   &map.offset, &map.inode, &at) < 5)
			continue;
		line[strcspn(line, "\n")] = '\0';
		map.grows = !strcmp(line + at, "[stack]");
		s->sanitized |= is_shadow(&map);
		*CT_PUSH(s->maps, s->map_count, s->map_room) = map;
		s->maps[s->map_count - 1].module =
			module_of(s, &s->maps[s->map_count - 1], line + at);
	}
	free(line);
	fclose(f);
	return s->map_count ? 0 : -ESRCH;
}

static bool is_narrow(struct ct_space *s, const struct ct_space_module *m)
{
	Elf64_Ehdr e;

	return ct_space_read_fixed(s, m->base, &e, sizeof(e)) &&
	       !memcmp(e.e_ident, ELFMAG, SELFMAG) &&
	       (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64);
}

/* libc's struct link_map, as far as every version has it. */
struct link {
	uint64_t bias, name, dynamic, next;
};

/* Goes through the loader's list of the program's modules. The first is the program. A module that
 * isn't in the list has a namespace of its own (dlmopen, LD_AUDIT), and there may be a libc, too.
 */
static void follow_loader(struct ct_space *s, const struct ct_space_module *loader)
{
	uint64_t debug = ct_space_symbol(s, loader, "_r_debug"), at;

	/* The member r_map. */
	if (!debug || !ct_space_read(s, debug + 8, &at, sizeof(at)))
		return;
	for (unsigned n = 0; at && n < MODULES_MAX; n++) {
		const struct ct_space_map *map;
		struct link l;

		if (!ct_space_read(s, at, &l, sizeof(l)))
			return;
		map = ct_space_map_at(s, l.dynamic);
		if (map && map->module != CT_SPACE_NONE) {
			if (!n)
				s->program = map->module;
			if (is_libc(ct_base_name(s->modules[map->module].name))) {
				s->libc = map->module;
				return;
			}
		}
		at = l.next;
	}
}

static void find_by_loader(struct ct_space *s)
{
	for (size_t i = 0; i < s->module_count; i++)
		if (s->modules[i].kind == CT_SPACE_LOADER)
			follow_loader(s, &s->modules[i]);
}

/* The program itself is where the auxiliary vector says that its headers are. That is the loader if
 * the loader was started, and told to load the program. */
static void find_program(struct ct_space *s)
{
	char *path = ct_memory_printf("/proc/%d/auxv", s->pid);
	FILE *f = fopen(path, "re");
	uint64_t pair[2];
	const struct ct_space_map *map;

	while (f && fread(pair, sizeof(pair), 1, f) == 1)
		if (pair[0] == AT_PHDR && (map = ct_space_map_at(s, pair[1])))
			s->program = map->module;
	if (s->program != CT_SPACE_NONE &&
	    (s->several || s->modules[s->program].kind == CT_SPACE_LOADER))
		find_by_loader(s);
	if (s->program != CT_SPACE_NONE && s->modules[s->program].kind == CT_SPACE_ALLOCATOR) {
		s->modules[s->program].kind = CT_SPACE_PROGRAM;
		s->program_allocates = true;
	}
	if (f)
		fclose(f);
	free(path);
	if (s->program == CT_SPACE_NONE && s->module_count)
		s->narrow = is_narrow(s, &s->modules[0]);
}

int ct_space_renew(struct ct_space *s)
{
	int err = read_maps(s);

	if (!err && s->program == CT_SPACE_NONE)
		find_program(s);
	return err;
}

int ct_space_open(struct ct_space *s, int pid)
{
	char *path = ct_memory_printf("/proc/%d/mem", pid);
	int err;

	*s = (struct ct_space){ .pid = pid, .libc = CT_SPACE_NONE, .program = CT_SPACE_NONE };
	s->pages = ct_memory_alloc(2 * PAGES * sizeof(*s->pages));
	s->memory = open(path, O_RDWR | O_CLOEXEC);
	err = s->memory < 0 ? -errno : ct_space_renew(s);
	free(path);
	return err;
}

void ct_space_close(struct ct_space *s)
{
	end_reader(s);
	for (size_t i = 0; i < 2 * PAGES; i++)
		free(s->pages[i].bytes);
	for (size_t i = 0; i < s->module_count; i++)
		free(s->modules[i].name);
	free(s->pages);
	free(s->modules);
	free(s->maps);
	if (s->memory >= 0)
		close(s->memory);
}

const struct ct_space_map *ct_space_map_at(const struct ct_space *s, uint64_t at)
{
	size_t low = 0, high = s->map_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (at >= s->maps[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->map_count && at >= s->maps[low].start ? &s->maps[low] : NULL;
}

const struct ct_space_module *ct_space_code_at(const struct ct_space *s, uint64_t at)
{
	const struct ct_space_map *map = ct_space_map_at(s, at);

	return map && map->prot[2] == 'x' && map->module != CT_SPACE_NONE ? &s->modules[map->module]
									  : NULL;
}
