/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of executable mappings; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/libc.h"
#include "base/sys.h"

#define READ_BYTES (16 << 10)

/* State while reading: the module whose lines are being read, to find the image's address. */
struct reading {
	struct cp_modules *m;
	uint64_t image, image_limit, image_inode, image_device;
	uint64_t main_header; /* program headers of the executable, from the auxiliary vector */
	uint64_t main_inode, main_device;
	bool image_has_code, image_is_main;
	struct cp_maps_line last; /* executable lines that are one mapping; limit 0: none */
	char *last_path;	  /* CP_MAPS_LINES_MOST for its path */
	size_t cursor;		  /* index into m->live */
	uint64_t context;	  /* start of the mapping with OTEL_CTX, or 0 */
	bool uring;		  /* a ring of io_uring is mapped */
	int error;
};

void cp_modules_init(struct cp_modules *m)
{
	*m = (struct cp_modules){ .mappings = { .size = sizeof(struct cp_mapping) },
				  .live = { .size = sizeof(uint32_t) },
				  .next_live = { .size = sizeof(uint32_t) } };
}

struct cp_mapping *cp_modules_at(const struct cp_modules *m, uint32_t number)
{
	return number < m->mappings.count ? CP_VEC_AT(&m->mappings, struct cp_mapping, number)
					  : NULL;
}

/* Is it the mapping that began at this address in the previous reading? An anonymous mapping may
 * have grown (a JIT's code heap). */
static bool is_same(struct cp_mapping *old, const struct cp_maps_line *l)
{
	if (old->start != l->start || old->inode != l->inode || old->device != l->device)
		return false;
	if (strlen(old->path) != l->path_size || memcmp(old->path, l->path, l->path_size))
		return false;
	if (old->anonymous && !old->vdso) {
		if (l->limit > old->limit)
			old->limit = l->limit;
		return true;
	}
	return old->limit == l->limit && old->offset == l->offset;
}

static uint32_t find_again(struct reading *r, const struct cp_maps_line *l)
{
	const struct cp_modules *m = r->m;

	for (; r->cursor < m->live.count; r->cursor++) {
		uint32_t number = *CP_VEC_AT(&m->live, uint32_t, r->cursor);
		struct cp_mapping *old = cp_modules_at(m, number);

		if (old->start > l->start)
			break;
		if (is_same(old, l))
			return number;
	}
	return CP_NO_MAPPING;
}

static bool is_of_image(const struct reading *r, const struct cp_maps_line *l)
{
	return l->inode && r->image_inode == l->inode && r->image_device == l->device;
}

/* Read a mapping's build id into ID; see cp_buildid_of_image. */
static int read_build_id(const struct cp_mapping *c, uint8_t *id)
{
	return c->image ? cp_buildid_of_image(c->image, c->image_limit - c->image, id,
					      CP_BUILD_ID_MAX)
			: -EFAULT;
}

static bool has_id(const struct cp_mapping *c, const uint8_t *id, size_t size)
{
	return size == c->build_id_size && !memcmp(id, c->build_id, size);
}

/* The image may belong to another module by now: is the file still the one that C was mapped from?
 */
static bool file_is(const struct cp_mapping *c)
{
	uint8_t id[CP_BUILD_ID_MAX];
	int n = c->deleted ? 0 : cp_buildid_of_file(c->path, id, sizeof(id));

	return n > 0 && has_id(c, id, (size_t)n);
}

/* Find the mapping that was here in an older reading: a module that is loaded and unloaded
 * repeatedly is one mapping. The file may have been rewritten in between. */
static uint32_t find_unloaded(struct reading *r, const struct cp_maps_line *l)
{
	const struct cp_modules *m = r->m;

	for (size_t i = m->mappings.count; i-- > 0;) {
		struct cp_mapping *c = cp_modules_at(m, (uint32_t)i);
		uint8_t id[CP_BUILD_ID_MAX];
		int size;

		if (c->live || c->deleted != l->deleted || !is_same(c, l))
			continue;
		/* An unreadable module is going away again: nothing shows that it is a different
		 * one. */
		size = c->build_id_size ? read_build_id(c, id) : 0;
		if (size > 0 && !has_id(c, id, (size_t)size) && !file_is(c))
			continue;
		return (uint32_t)i;
	}
	return CP_NO_MAPPING;
}

static uint32_t add_mapping(struct reading *r, const struct cp_maps_line *l)
{
	uint64_t own = (uint64_t)(uintptr_t)&cp_modules_refresh;
	const char *path = cp_arena_text(&r->m->names, l->path, l->path_size);
	struct cp_mapping *new = path ? cp_vec_add(&r->m->mappings) : NULL;

	if (!new)
		return CP_NO_MAPPING;
	new->start = l->start;
	new->limit = l->limit;
	new->offset = l->offset;
	new->device = l->device;
	new->inode = l->inode;
	new->path = path;
	new->vdso = !strcmp(path, "[vdso]");
	new->anonymous = l->inode == 0;
	new->main = l->inode && l->inode == r->main_inode && l->device == r->main_device;
	/* In a program that has libcprof's code inside, it is no mapping: base/own_code.h. */
	new->ours = (own >= l->start) && (own < l->limit) && !new->main;
	if (new->vdso)
		new->image = l->start;
	else if (is_of_image(r, l))
		new->image = r->image;
	new->image_limit = l->limit;
	return (uint32_t)(r->m->mappings.count - 1);
}

/* Keep track of the current module. Its lines are adjacent (the loader fills holes), and with some
 * linkers several of them begin at file offset 0. The kernel leaves holes in the executable. */
static void follow_image(struct reading *r, const struct cp_maps_line *l)
{
	bool more = is_of_image(r, l) && (l->start == r->image_limit || l->offset ||
					  (r->image_is_main && !r->image_has_code));

	if (!more && (l->offset || !l->inode))
		return;
	if (!more) {
		r->image = l->start;
		r->image_inode = l->inode;
		r->image_device = l->device;
		r->image_has_code = r->image_is_main = false;
	}
	r->image_limit = l->limit;
	r->image_has_code |= l->executable;
	r->image_is_main |= r->main_header >= l->start && r->main_header < l->limit;
}

/* Extend the images of this module's earlier mappings up to here. */
static void stretch_images(struct reading *r)
{
	for (size_t i = r->m->next_live.count; i-- > 0;) {
		uint32_t number = *CP_VEC_AT(&r->m->next_live, uint32_t, i);
		struct cp_mapping *c = cp_modules_at(r->m, number);

		if (!c->image || c->image != r->image)
			return;
		c->image_limit = r->image_limit;
	}
}

/* Add the mapping that the last executable lines make up. */
static void take_last(struct reading *r)
{
	struct cp_maps_line l = r->last;
	uint32_t number, *slot;

	if (!l.limit)
		return;
	r->last.limit = 0;
	number = find_again(r, &l);
	if (number == CP_NO_MAPPING)
		number = find_unloaded(r, &l);
	if (number == CP_NO_MAPPING)
		number = add_mapping(r, &l);
	slot = number == CP_NO_MAPPING ? NULL : cp_vec_add(&r->m->next_live);
	if (!slot) {
		r->error = -ENOMEM;
		return;
	}
	*slot = number;
	cp_modules_at(r->m, number)->deleted = l.deleted;
}

static void keep_line(struct reading *r, const struct cp_maps_line *l)
{
	r->last = *l;
	/* The kernel writes a newline in a path as four characters. */
	if (r->last.path_size > CP_MAPS_LINES_MOST - 1)
		r->last.path_size = CP_MAPS_LINES_MOST - 1;
	memcpy(r->last_path, l->path, r->last.path_size);
	r->last_path[r->last.path_size] = '\0';
	r->last.path = r->last_path;
}

/* The kernel splits a mapping whose parts differ, as when the program locks a part in memory. */
static bool goes_on(const struct reading *r, const struct cp_maps_line *l)
{
	const struct cp_maps_line *last = &r->last;

	return l->executable && l->inode && last->limit == l->start && last->inode == l->inode &&
	       last->device == l->device && last->start - last->offset == l->start - l->offset;
}

static void take_map_line(struct reading *r, struct cp_maps_line *l)
{
	bool more = goes_on(r, l);

	if (!more)
		take_last(r);
	follow_image(r, l);
	stretch_images(r);
	if (r->main_header >= l->start && r->main_header < l->limit) {
		r->main_inode = l->inode;
		r->main_device = l->device;
	}
	if (!l->executable)
		return;
	if (more) {
		r->last.limit = l->limit;
		return;
	}
	if (!l->path_size) {
		l->path = "//anon";
		l->path_size = 6;
	}
	keep_line(r, l);
}

static bool begins(const struct cp_maps_line *l, const char *with)
{
	return !strncmp(l->path, with, strlen(with));
}

/* Is the line's name one of those that the mapping of OTEP 4719 may have? */
static bool is_context(const struct cp_maps_line *l)
{
	return l->path_size && !l->executable &&
	       (begins(l, "/memfd:OTEL_CTX") || begins(l, "[anon_shmem:OTEL_CTX") ||
		begins(l, "[anon:OTEL_CTX"));
}

static void take_line(struct cp_maps_line *l, void *reading)
{
	struct reading *r = reading;

	if (!r->context && is_context(l))
		r->context = l->start;
	r->uring |= begins(l, "anon_inode:[io_uring]");
	take_map_line(r, l);
}

static int read_lines(struct reading *r, char *buffer)
{
	int err;

	if (!buffer)
		return -ENOMEM;
	r->last_path = buffer + READ_BYTES - CP_MAPS_LINES_MOST;
	err = cp_maps_lines_read(buffer, READ_BYTES - CP_MAPS_LINES_MOST, take_line, r);
	take_last(r);
	return err < 0 ? err : r->error;
}

static void set_live(struct cp_modules *m, bool live)
{
	for (size_t i = 0; i < m->live.count; i++) {
		struct cp_mapping *c = cp_modules_at(m, *CP_VEC_AT(&m->live, uint32_t, i));

		c->live = live;
		c->seen = m->readings;
	}
}

int cp_modules_refresh(struct cp_modules *m)
{
	struct reading r = { .m = m, .main_header = cp_libc_auxval(AT_PHDR) };
	struct cp_vec swap;

	m->stale = false;
	/* The buffer is kept: the list is read often, and an unmapping disturbs every processor
	 * that runs the program. */
	m->buffer = m->buffer ? m->buffer : cp_sys_map(READ_BYTES);
	m->next_live.count = 0;
	m->error = read_lines(&r, m->buffer);
	if (m->error < 0)
		return m->error;
	m->context = r.context;
	m->uring |= r.uring;
	set_live(m, false);
	swap = m->live;
	m->live = m->next_live;
	m->next_live = swap;
	m->readings++;
	set_live(m, true);
	return 0;
}

void cp_modules_want(struct cp_modules *m)
{
	if (m->stale)
		cp_modules_refresh(m);
}

static uint32_t find_live(const struct cp_modules *m, uint64_t pc)
{
	size_t low = 0, high = m->live.count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		uint32_t number = *CP_VEC_AT(&m->live, uint32_t, middle);
		const struct cp_mapping *c = cp_modules_at(m, number);

		if (pc < c->start)
			high = middle;
		else if (pc >= c->limit)
			low = middle + 1;
		else
			return number;
	}
	return CP_NO_MAPPING;
}

/* Modules may take turns at one address; each keeps its number. */
static uint32_t find_last(const struct cp_modules *m, uint64_t pc)
{
	uint32_t number = CP_NO_MAPPING;
	uint64_t seen = 0;

	for (size_t i = 0; i < m->mappings.count; i++) {
		const struct cp_mapping *c = CP_VEC_AT(&m->mappings, struct cp_mapping, i);

		if (c->live || pc < c->start || pc >= c->limit || c->seen < seen)
			continue;
		number = (uint32_t)i;
		seen = c->seen;
	}
	return number;
}

uint32_t cp_modules_find(const struct cp_modules *m, uint64_t pc)
{
	uint32_t number = find_live(m, pc);

	return number == CP_NO_MAPPING ? find_last(m, pc) : number;
}

/* The kernel's half of the address space on x86_64 and aarch64. */
#define KERNEL_START (UINT64_C(0xffff) << 48)

bool cp_modules_is_kernel(uint64_t pc)
{
	return pc >= KERNEL_START;
}

uint32_t cp_modules_kernel(struct cp_modules *m)
{
	uint32_t number = cp_modules_find(m, KERNEL_START);
	struct cp_mapping *new;
	int n;

	if (number != CP_NO_MAPPING)
		return number;
	new = cp_vec_add(&m->mappings);
	if (!new)
		return CP_NO_MAPPING;
	new->start = KERNEL_START;
	new->limit = UINT64_MAX;
	new->path = "[kernel.kallsyms]";
	new->anonymous = new->kernel = new->identified = true;
	n = cp_buildid_of_kernel(new->build_id, sizeof(new->build_id));
	new->build_id_size = n > 0 ? (uint8_t)n : 0;
	return (uint32_t)(m->mappings.count - 1);
}

/* Is it the file of /proc/self/exe? Not so under `ld.so program`. The device number in maps may
 * differ from stat's. */
static bool is_self_exe(const struct cp_mapping *mapping)
{
	char path[CP_THREAD_FILE_PATH];
	struct stat st;

	return mapping->main &&
	       !cp_sys4(SYS_newfstatat, AT_FDCWD, cp_thread_file_path(path, "exe"), &st, 0) &&
	       st.st_ino == mapping->inode;
}

void cp_modules_identify(struct cp_mapping *mapping)
{
	int n;

	if (mapping->identified)
		return;
	mapping->identified = true;
	mapping->self_exe = is_self_exe(mapping);
	n = mapping->live ? read_build_id(mapping, mapping->build_id) : -EFAULT;
	if (n <= 0 && n != -ENOENT && !mapping->anonymous)
		n = cp_buildid_of_file(mapping->path, mapping->build_id, sizeof(mapping->build_id));
	mapping->build_id_size = n > 0 ? (uint8_t)n : 0;
}

void cp_modules_release(struct cp_modules *m)
{
	cp_arena_release(&m->names);
	cp_vec_release(&m->mappings);
	cp_vec_release(&m->live);
	cp_vec_release(&m->next_live);
	cp_sys_unmap(m->buffer, READ_BYTES);
	m->buffer = NULL;
}
