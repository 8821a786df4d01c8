/* SPDX-License-Identifier: BSD-3-Clause */
/* Says why a module has no lines; see symbolize_missing.h. */
#include "verbs/symbolize_missing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/out.h"
#include "core/own.h"

static bool is_own(const struct ct_profile *p, const char *file)
{
	struct ct_own *o = ct_own_new(p, NULL);
	bool own = false;

	for (uint32_t i = 0; i < p->mapping_count && !own; i++)
		own = !strcmp(ct_text(p, p->mappings[i].file), file) &&
		      ct_own_is(o, &(struct ct_location){ .mapping = i }, NULL);
	ct_own_free(o);
	return own;
}

static char *why(const struct ct_missing *to, const char *build_id, const struct ct_dwarf_module *m)
{
	const char *where = to->asked ? " by build id or in -debug-dir" : "; try -debug-dir=DIR";

	if (m->packed)
		return ct_memory_strdup("its debug information is compressed by zstd, and "
					"libzstd.so.1 is missing or can't unpack it");
	if (m->debug >= 0)
		return ct_memory_strdup("its debug information has none for these addresses");
	if (m->denied)
		return ct_memory_printf("%s can't be read: %s", m->denied, strerror(EACCES));
	if (m->image >= 0)
		return ct_memory_printf("it has no debug information (build it with -g), and no "
					"debug file was found%s",
					where);
	if (!*build_id)
		return ct_memory_strdup("no such file, and it has no build id, by which another "
					"file could prove to be the same");
	return ct_memory_printf("%s, and no file with its build id %s was found%s",
				m->there ? "the file is another build" : "no such file", build_id,
				where);
}

void ct_symbolize_missing_add(struct ct_missing *to, const struct ct_profile *p, const char *file,
			      const char *build_id, const struct ct_dwarf_module *m)
{
	char *reason;

	if (!is_own(p, file))
		return;
	reason = why(to, build_id, m);
	*CT_PUSH(to->texts, to->count, to->room) =
		ct_memory_printf("no lines for %s: %s", file, reason);
	free(reason);
}

void ct_symbolize_missing_say(struct ct_missing *m)
{
	for (size_t i = 0; i < m->count; i++) {
		fputs("cprof symbolize: ", stderr);
		ct_out_text(stderr, m->texts[i]);
		fputc('\n', stderr);
		free(m->texts[i]);
	}
	free(m->texts);
	*m = (struct ct_missing){ 0 };
}
