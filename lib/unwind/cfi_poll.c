/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds modules that were loaded since the loader was asked, in /proc/self/maps: takes none of the
 * program's locks, and lets the kernel copy memory that may go away. Runs on the collector's
 * thread; see unwind/signal/unwind_signal.h.
 *
 * Needed with glibc before 2.35, which has no _dl_find_object, and for modules without a sorted
 * table. A program with generated code causes misses all the time; then the intervals grow.
 * Not used with musl: hooks/dlopen_musl.c.
 */

#include "unwind/unwind.h"
#include "symbols/symbols.h"
#include "base/libc.h"
#include "base/sys.h"

#define SEGMENTS 64
#define INTERVAL_MIN 1 /* seconds */
#define INTERVAL_MAX 64

static uint64_t next_poll, interval = INTERVAL_MIN;

static uint64_t now_seconds(void)
{
	struct timespec t = { 0 };

	cp_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

static void build(struct cp_cfi_module *m, const struct cp_elf *e, struct cp_cfi_place *place)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < SEGMENTS && !cp_elf_segment(e, i, &p); i++)
		cp_cfi_modules_build(m, place, &p, true);
}

/* Describe the module whose image is at C->image. Returns false if it can't be read. */
static bool describe_module(const struct cp_mapping *c, struct cp_cfi_module *m)
{
	struct cp_elf e;
	Elf64_Phdr p;
	uint64_t bias;

	if (cp_elf_open_image(&e, c->image, c->image_limit - c->image, false))
		return false;
	bias = c->image - e.base_vaddr;
	*m = (struct cp_cfi_module){ .start = UINT64_MAX };
	for (unsigned i = 0; i < SEGMENTS && !cp_elf_segment(&e, i, &p); i++) {
		if (p.p_type == PT_GNU_EH_FRAME)
			m->hdr = bias + p.p_vaddr;
		if (p.p_type != PT_LOAD)
			continue;
		if (bias + p.p_vaddr < m->start)
			m->start = (bias + p.p_vaddr) & -CP_CFI_PAGE;
		if (bias + p.p_vaddr + p.p_memsz > m->end)
			m->end = bias + p.p_vaddr + p.p_memsz;
	}
	m->tables = m->start;
	m->tables_end = m->end;
	if (m->start < m->end && !cp_cfi_build_has_table(m, true))
		build(m, &e,
		      &(struct cp_cfi_place){
			      .bias = bias, .path = c->deleted ? NULL : c->path, .code = true });
	cp_elf_close(&e);
	return m->start < m->end;
}

static void fill_snapshot(struct cp_cfi_snapshot *s, const struct cp_modules *seen)
{
	uint64_t image = 0;

	for (size_t i = 0; i < seen->live.count; i++) {
		const struct cp_mapping *c =
			cp_modules_at(seen, *CP_VEC_AT(&seen->live, uint32_t, i));
		struct cp_cfi_module m;

		if (!c->image || c->image == image || !describe_module(c, &m))
			continue;
		image = c->image;
		if ((cp_cfi_finder.find && !m.built) || !cp_cfi_modules_snapshot_add(s, &m))
			cp_cfi_build_release(m.built);
	}
}

static bool is_same(const struct cp_cfi_snapshot *a, const struct cp_cfi_snapshot *b)
{
	if (!a || a->count != b->count)
		return !a && !b->count;
	for (size_t i = 0; i < a->count; i++)
		if (a->modules[i].start != b->modules[i].start ||
		    a->modules[i].end != b->modules[i].end)
			return false;
	return true;
}

/* Returns the modules in /proc/self/maps, or NULL if they can't be determined. */
static struct cp_cfi_snapshot *take_from_maps(void)
{
	struct cp_cfi_snapshot *s = NULL;
	struct cp_modules seen;

	cp_modules_init(&seen);
	if (!cp_modules_refresh(&seen))
		s = cp_cfi_modules_snapshot_make(seen.live.count);
	if (s)
		fill_snapshot(s, &seen);
	cp_modules_release(&seen);
	return s;
}

/* Is BEFORE still the list that handlers see, and does it differ from NEW? A list is released once
 * no capture is in progress, so this function counts as a capture. */
static bool is_news(const struct cp_cfi_snapshot *before, const struct cp_cfi_snapshot *new)
{
	bool stable, news;
	unsigned phase = cp_gate_enter(&stable);

	news = cp_load_acquire(&cp_cfi_finder.snapshot) == before && !is_same(before, new);
	cp_gate_leave(phase);
	return news;
}

/* Publish the current list of modules. Returns true if it has changed. */
static bool look_at_maps(void)
{
	struct cp_cfi_snapshot *before = cp_load_acquire(&cp_cfi_finder.snapshot), *old, *new;

	new = take_from_maps();
	if (!new || !is_news(before, new) ||
	    !cp_cfi_modules_snapshot_publish(new, NULL, before, &old)) {
		cp_cfi_modules_snapshot_release(new);
		return false;
	}
	cp_gate_wait();
	cp_cfi_modules_snapshot_release(old);
	return true;
}

void cp_cfi_poll(void)
{
	uint64_t now;

	if (CP_LIBC_DLOPEN_IS_HOOKED || !cp_load_relaxed(&cp_cfi_finder.missed))
		return;
	now = now_seconds();
	if (now < next_poll)
		return;
	cp_store_relaxed(&cp_cfi_finder.missed, 0);
	if (look_at_maps())
		interval = INTERVAL_MIN;
	else if (interval < INTERVAL_MAX)
		interval *= 2;
	next_poll = now + interval;
}
