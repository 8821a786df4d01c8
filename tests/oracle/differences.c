/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts the differences into classes with a reason; see oracle.h. */
#include "oracle.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <string.h>
#include <sys/auxv.h>

#include "unwind/signal/unwind_signal.h"

#define CLASSES 400
#define SHOWN 12

static struct class
{
	const void *module; /* base of the module of the frame that was left wrongly */
	const char *name;
	const char *reason; /* NULL: none is known */
	bool own, cut;
	unsigned long count;
	uint64_t pc; /* the first */
} classes[CLASSES];
static unsigned count, shown;

void oracle_show(FILE *out, uint64_t pc)
{
	Dl_info info = { 0 };

	if (!dladdr((void *)pc, &info) || !info.dli_fname) {
		fprintf(out, "      %#lx in no module\n", pc);
		return;
	}
	fprintf(out, "      %s+%#lx %s+%#lx\n", info.dli_fname, pc - (uint64_t)info.dli_fbase,
		info.dli_sname ? info.dli_sname : "?",
		info.dli_sname ? pc - (uint64_t)info.dli_saddr : 0);
}

/* longjmp's inner part describes itself as the place that it jumps to, long before it gets there.
 * It is what longjmp calls. */
static bool is_jumping(void)
{
	return oracle_shadow_right(1) - (uint64_t)longjmp < 128;
}

/* Before it jumps to an exception's landing, libgcc puts the landing's registers over those that
 * its own function saved, and then describes itself as the landing's callee. */
static bool is_landing(const struct oracle_walk *w, unsigned at)
{
	for (unsigned i = 0; i < at; i++) {
		Dl_info info = { 0 };

		if (dladdr((void *)w->pcs[i], &info) && info.dli_sname &&
		    (!strncmp(info.dli_sname, "_Unwind_R", 9) ||
		     !strcmp(info.dli_sname, "_Unwind_ForcedUnwind")))
			return true;
	}
	return false;
}

/* On aarch64, a program that isn't position-independent jumps to main by two instructions of
 * crt1.o, which glibc's table describes as a part of _start: nobody has called that. */
static bool is_jump_to_main(const struct oracle_walk *w)
{
	return w->n == 1 && w->pcs[0] - getauxval(AT_ENTRY) < 64;
}

const char *oracle_excuse(const struct oracle_walk *w, unsigned at)
{
	return is_jumping() ? "longjmp, which describes itself as where it jumps to"
	       : is_landing(w, at)
		       ? "an exception's landing, whose registers libgcc has put over its own"
	       : is_jump_to_main(w) ? "the jump to main, which is described as _start"
				    : NULL;
}

static const char *reason_at(uint64_t pc)
{
	struct cp_cfi_module m;
	struct cp_cfi_fde fde;
	struct cp_cfi_row row;

	if (!cp_cfi_module_find(pc, &m))
		return "generated code";
	if (!cp_cfi_table_find(&m, pc, NULL, &fde))
		return "code without call frame information";
	if (cp_cfi_row(&fde, pc, &row))
		return "information that can't be read";
	if (cp_cfi_quirks_freed_early(&fde, pc, &row, false))
		return "a description that misses the end of the frame";
	if (CP_CFI_KIND(row.cfa) != CP_CFI_REGISTER)
		return "its CFA is an expression";
	return NULL;
}

static const char *reason_of(const struct oracle_walk *w, unsigned at)
{
	const char *excuse = oracle_excuse(w, at);

	return excuse ? excuse : reason_at(w->pcs[at - 1]);
}

static void show(const struct oracle_walk *w, unsigned at, bool own)
{
	fprintf(stderr, "oracle: %s differs at frame %u of %u, end %d; walked:\n",
		own ? "own" : "libunwind", at, w->n, w->end);
	for (unsigned i = 0; i < w->n && i < at + 2; i++)
		oracle_show(stderr, w->pcs[i]);
	fprintf(stderr, "   right, from the caller on:\n");
	for (unsigned i = 1; i < at + 2 && oracle_shadow_right(i); i++)
		oracle_show(stderr, oracle_shadow_right(i));
}

void oracle_difference(const struct oracle_walk *w, unsigned at, bool own)
{
	uint64_t pc = w->pcs[at - 1];
	const char *reason = reason_of(w, at);
	bool cut = at == w->n;
	Dl_info info = { 0 };
	unsigned i;

	dladdr((void *)pc, &info);
	for (i = 0; i < count; i++)
		if (classes[i].own == own && classes[i].cut == cut && classes[i].reason == reason &&
		    classes[i].module == info.dli_fbase && (reason || classes[i].pc == pc))
			break;
	if (i == CLASSES)
		i--;
	if (i == count) {
		count++;
		classes[i] = (struct class){ .module = info.dli_fbase,
					     .name = info.dli_fname ? info.dli_fname : "no module",
					     .reason = reason,
					     .own = own,
					     .cut = cut,
					     .pc = pc };
		if ((own || !reason) && shown++ < SHOWN)
			show(w, at, own);
	}
	classes[i].count++;
}

unsigned long oracle_difference_report(FILE *out)
{
	unsigned long unexplained = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct class *c = &classes[i];

		fprintf(out, "  %s %s %lu times in %s (first at +%#lx): %s\n",
			c->own ? "own" : "libunwind", c->cut ? "stops" : "goes wrong", c->count,
			c->name, c->pc - (uint64_t)c->module,
			c->reason ? c->reason : "UNEXPLAINED");
		if (!c->reason)
			unexplained += c->count;
	}
	return unexplained;
}
