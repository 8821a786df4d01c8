/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that is made while the program runs; see model.h. */
#include "core/model.h"

#include <string.h>

static bool starts_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

bool ct_jit_is_path(const char *path)
{
	return starts_with(path, "//anon") || starts_with(path, "[anon") ||
	       starts_with(path, "/memfd:") || starts_with(path, "/tmp/perf-") ||
	       starts_with(path, "[heap]");
}

bool ct_jit_is(const struct ct_profile *p, const struct ct_location *l, const char *name)
{
	if (l->mapping != CT_NONE)
		return ct_jit_is_path(ct_text(p, p->mappings[l->mapping].file));
	/* "[truncated]" and "[kernel]" aren't code of the program. */
	return p->mapping_count && l->address && (*name != '[' || !strcmp(name, "[unknown]"));
}

bool ct_jit_is_place(const char *name)
{
	static const char *const begins[] = { "//anon", "[anon", "memfd:", "[heap]" };
	const char *plus = strrchr(name, '+');

	if (!plus || strncmp(plus, "+0x", 3) != 0 || plus[3 + strspn(plus + 3, "0123456789abcdef")])
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (starts_with(name, begins[i]))
			return true;
	return false;
}

const char *ct_jit_advice(const struct ct_profile *p)
{
	const char *path = p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
	const char *slash = strrchr(path, '/'), *program = slash ? slash + 1 : path;

	if (starts_with(program, "node"))
		return "run node with --perf-basic-prof --no-short-builtin-calls";
	if (starts_with(program, "java"))
		return "run java with -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
		       "-XX:+DumpPerfMapAtExit (JDK 17)";
	if (starts_with(program, "python"))
		return "run python3 with -X perf (3.12)";
	return "let the runtime write /tmp/perf-PID.map";
}
