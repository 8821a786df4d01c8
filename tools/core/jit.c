/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that is made while the program runs; see model.h. */
#include "core/model.h"

#include <string.h>

bool ct_jit_is_path(const char *path)
{
	return ct_starts(path, "//anon") || ct_starts(path, "[anon") ||
	       ct_starts(path, "/memfd:") || ct_starts(path, "/tmp/perf-") ||
	       ct_starts(path, "[heap]");
}

bool ct_jit_is(const struct ct_profile *p, const struct ct_location *l, const char *name)
{
	if (l->mapping != CT_NONE)
		return ct_jit_is_path(ct_text(p, p->mappings[l->mapping].file));
	/* "[truncated]" and "[kernel]" aren't code of the program. */
	return p->mapping_count && l->address && (*name != '[' || !strcmp(name, "[unknown]"));
}

bool ct_jit_is_bare(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && ct_starts(plus, "+0x") && plus[3] &&
	       !plus[3 + strspn(plus + 3, "0123456789abcdef")];
}

bool ct_jit_is_place(const char *name)
{
	static const char *const begins[] = { "//anon", "[anon", "memfd:", "[heap]" };

	if (!ct_jit_is_bare(name))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ct_starts(name, begins[i]))
			return true;
	return false;
}

const char *ct_jit_advice(const struct ct_profile *p)
{
	const char *path = p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
	const char *program = ct_base_name(path);

	if (ct_starts(program, "node"))
		return "run node with --perf-basic-prof --no-short-builtin-calls";
	if (ct_starts(program, "java"))
		return "run java with -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
		       "-XX:+DumpPerfMapAtExit (JDK 17)";
	if (ct_starts(program, "python"))
		return "run python3 with -X perf (3.12)";
	return "let the runtime write /tmp/perf-PID.map";
}
