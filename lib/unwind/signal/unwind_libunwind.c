/* SPDX-License-Identifier: BSD-3-Clause */
/* CPROF_UNWIND=libunwind: libunwind steps, libcprof's accessors read.
 *
 * It uses a separate address space, so that libunwind neither iterates over modules (the loader's
 * lock) nor reads memory itself: it calls the accessors here for a pc's table, for words and for
 * registers. It blocks signals and takes its own locks around its caches. No capture is in progress
 * over fork and dlclose.
 *
 * It uses errno, and module memory may vanish while it reads. If the input does not permit both,
 * frame pointers are followed instead.
 */
#include "unwind/signal/unwind_signal.h"

#include <errno.h>

#ifdef HAVE_LIBUNWIND

struct walk {
	const struct cp_unwind_input *in;
	struct cp_stackmem stack;
	struct cp_cfi_module module; /* module of the pc that was asked for last */
};

/* The beginning of .eh_frame_hdr in the only form that linkers write. */
struct table_head {
	uint8_t version, eh_frame_enc, count_enc, table_enc;
	int32_t eh_frame;
	uint32_t count;
};

#define TABLE_ENC 0x3b /* relative to the header, signed, 4 bytes */
#define COUNT_ENC 0x03 /* unsigned, 4 bytes */

static struct cp_libunwind lib;
static unw_addr_space_t space;

static bool in_tables(const struct cp_cfi_module *m, uint64_t addr, uint64_t size)
{
	return addr >= m->tables && addr < m->tables_end && m->tables_end - addr >= size;
}

static bool find_table(struct walk *w, uint64_t pc, unw_dyn_info_t *di)
{
	const struct table_head *h;

	if (!cp_cfi_module_find(pc, &w->module) || !w->module.hdr ||
	    !in_tables(&w->module, w->module.hdr, sizeof(*h)))
		return false;
	h = (const void *)(uintptr_t)w->module.hdr;
	if (h->version != 1 || h->table_enc != TABLE_ENC || h->count_enc != COUNT_ENC)
		return false;
	memset(di, 0, sizeof(*di));
	di->start_ip = w->module.start;
	di->end_ip = w->module.end;
	di->format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di->u.rti.segbase = w->module.hdr;
	di->u.rti.table_data = w->module.hdr + sizeof(*h);
	di->u.rti.table_len = h->count; /* an entry is a word */
	return true;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t pc, unw_proc_info_t *pi, int need,
			  void *arg)
{
	unw_dyn_info_t di;

	if (!find_table(arg, pc, &di))
		return -UNW_ENOINFO;
	return lib.search_unwind_table(as, pc, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *word, int write, void *arg)
{
	struct walk *w = arg;

	if (write)
		return -UNW_EREADONLYREG;
	if (in_tables(&w->module, addr, sizeof(*word))) {
		*word = *(const cp_stackmem_word *)addr;
		return 0;
	}
	return cp_stackmem_read(&w->stack, addr, word) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *word, int write, void *arg)
{
	const struct walk *w = arg;

	if (write)
		return -UNW_EREADONLYREG;
	if (reg < 0 || reg >= CP_REGS)
		return -UNW_EBADREG;
	*word = w->in->regs.r[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *v, int write, void *arg)
{
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t pc, char *to, size_t size,
			 unw_word_t *offset, void *arg)
{
	return -UNW_ENOINFO;
}

int cp_unwind_libunwind_start(const struct cp_libunwind *loaded)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};

	lib = *loaded;
	space = lib.create_addr_space(&accessors, 0);
	if (!space)
		return -ENOMEM;
	/* Not UNW_CACHE_PER_THREAD: that cache is dynamic TLS, which is allocated at first use. */
	lib.set_caching_policy(space, UNW_CACHE_GLOBAL);
	return 0;
}

/* Is PC the trampoline that a signal handler returns to? The frame above it was interrupted. */
static bool at_sigreturn(struct walk *w, uint64_t pc)
{
	uint64_t code[2];

	/* Find its module, so that the code is read directly. */
	if (!in_tables(&w->module, pc, sizeof(code)))
		cp_cfi_module_find(pc, &w->module);
	return !access_mem(space, pc, &code[0], 0, w) &&
	       !access_mem(space, pc + 8, &code[1], 0, w) &&
	       cp_cfi_is_sigreturn((const uint8_t *)code);
}

/* Outermost frame reached: libunwind reports a pc of 0 for an undefined return address. */
static enum cp_unwind_end end_of(unw_cursor_t *c, int step)
{
	unw_word_t pc;

	if (step < 0 || lib.get_reg(c, UNW_REG_IP, &pc) < 0)
		return CP_UNWIND_INCOMPLETE;
	return pc ? CP_UNWIND_INCOMPLETE : CP_UNWIND_COMPLETE;
}

static unsigned steps(struct walk *w, unw_cursor_t *c, uint64_t *pcs, unsigned max,
		      enum cp_unwind_end *end)
{
	uint64_t sp = w->in->regs.r[CP_REG_SP], pc = w->in->regs.r[CP_REG_PC];
	bool exact, trampoline = at_sigreturn(w, pc);
	unsigned n = 1;

	*end = CP_UNWIND_INCOMPLETE;
	for (;;) {
		uint64_t before = sp;
		int r = lib.step(c);

		exact = trampoline;

		if (r <= 0 || lib.get_reg(c, UNW_REG_IP, &pc) < 0 ||
		    lib.get_reg(c, UNW_REG_SP, &sp) < 0 || !pc) {
			*end = end_of(c, r);
			return n;
		}
		/* A signal handler may use another stack than the code that it interrupted. */
		if (pc >> CP_CFI_PC_BITS || (sp <= before && !exact))
			return n;
		if (n == max) {
			*end = CP_UNWIND_TRUNCATED;
			return n;
		}
		trampoline = at_sigreturn(w, pc);
		pcs[n++] = exact || trampoline ? pc : pc - 1;
	}
}

unsigned cp_unwind_libunwind_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end)
{
	struct walk w = { .in = in };
	unw_cursor_t cursor;

	if (!in->own_tls || !in->stable_modules || !space)
		return cp_unwind_fp_walk(in, pcs, max, end);
	cp_stackmem_init(&w.stack, in->regs.r[CP_REG_SP], in->stack_low, in->stack_high);
	w.stack.room = in->room;
	pcs[0] = in->regs.r[CP_REG_PC];
	*end = CP_UNWIND_INCOMPLETE;
	if (lib.init_remote(&cursor, space, &w) < 0)
		return 1;
	return steps(&w, &cursor, pcs, max, end);
}

void cp_unwind_libunwind_flush(void)
{
	lib.flush_cache(space, 0, 0);
}

#else

unsigned cp_unwind_libunwind_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end)
{
	return cp_unwind_fp_walk(in, pcs, max, end);
}

#endif
