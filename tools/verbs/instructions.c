/* SPDX-License-Identifier: BSD-3-Clause */
/* The instructions of a function, decoded by libcapstone, which is loaded for it. See verbs.h. */
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf.h"
#include "verbs/verbs.h"

/* libcapstone's interface. Its struct cs_insn differs by version, so only its texts are used. */
#define CS_ARCH_ARM64 1
#define CS_ARCH_X86 3
#define CS_MODE_64 8
#define CS_OPT_SYNTAX 1
#define CS_OPT_SKIPDATA 5
#define CS_OPT_ON 3
#define CS_OPT_SYNTAX_ATT 2
#define CS_OPERANDS 32 /* from mnemonic to op_str */

static struct {
	int (*open)(int arch, int mode, size_t *handle);
	int (*option)(size_t handle, int option, size_t value);
	void *(*allocate)(size_t handle);
	bool (*next)(size_t handle, const uint8_t **code, size_t *n, uint64_t *at, void *to);
	unsigned (*version)(int *major, int *minor);
	void (*release)(void *instruction, size_t n);
	int (*close)(size_t *handle);
} capstone;

bool ct_instructions_load(void)
{
	const struct ct_library_function functions[] = {
		{ "cs_open", &capstone.open },	     { "cs_option", &capstone.option },
		{ "cs_malloc", &capstone.allocate }, { "cs_disasm_iter", &capstone.next },
		{ "cs_version", &capstone.version }, { "cs_free", &capstone.release },
		{ "cs_close", &capstone.close },
	};
	static const char *const names[] = { "libcapstone.so.5", "libcapstone.so.4",
					     "libcapstone.so.6" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ct_library_load(names[i], functions, sizeof(functions) / sizeof(*functions)))
			return true;
	return false;
}

/* Returns where the mnemonic is in struct cs_insn: after an id, the address, the size and 16 bytes;
 * 24 bytes since 5, and a second id since 6. */
static size_t mnemonic_at(void)
{
	int major = 4, minor;

	capstone.version(&major, &minor);
	return major < 5 ? 34 : major == 5 ? 42 : 50;
}

/* Finds what I leads to or uses, in its operands in AT&T's syntax, or ARM's. */
static void find_target(struct ct_instruction *i, const char *mnemonic, const char *operands,
			bool arm)
{
	const char *last = strrchr(operands, '#'), *at;
	char *end;

	if (arm) {
		if (last &&
		    (*mnemonic == 'b' || ct_starts(mnemonic, "cb") || ct_starts(mnemonic, "tb")))
			i->target = strtoull(last + 1, NULL, 16);
		return;
	}
	if (ct_starts(operands, "0x")) {
		i->target = strtoull(operands, &end, 16);
		if (!*end)
			return;
		i->target = 0;
	}
	at = strstr(operands, "(%rip)");
	if (!at)
		return;
	while (at > operands && strchr("-x0123456789abcdef", at[-1]))
		at--;
	i->target = i->address + i->size + (uint64_t)strtoll(at, NULL, 16);
	i->is_place = true;
}

size_t ct_instructions_decode(const struct ct_dwarf_code *code, uint64_t begin, uint64_t end,
			      struct ct_instruction **list)
{
	bool arm = code->machine == EM_AARCH64;
	size_t handle, n = 0, count = 0, room = 0, left = end - begin, text = mnemonic_at();
	const uint8_t *bytes = ct_dwarf_code_at(code, begin, &n);
	char *one;

	*list = NULL;
	if (!bytes || (!arm && code->machine != EM_X86_64) ||
	    capstone.open(arm ? CS_ARCH_ARM64 : CS_ARCH_X86, arm ? 0 : CS_MODE_64, &handle))
		return 0;
	capstone.option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	capstone.option(handle, CS_OPT_SYNTAX, arm ? 0 : CS_OPT_SYNTAX_ATT);
	one = capstone.allocate(handle);
	while (left && one) {
		struct ct_instruction i = { .address = begin };

		if (!capstone.next(handle, &bytes, &left, &begin, one))
			break;
		i.size = begin - i.address;
		i.text = ct_memory_printf("%-7s %s", one + text, one + text + CS_OPERANDS);
		find_target(&i, one + text, one + text + CS_OPERANDS, arm);
		*CT_PUSH(*list, count, room) = i;
	}
	if (one)
		capstone.release(one, 1);
	capstone.close(&handle);
	return count;
}

void ct_instructions_free(struct ct_instruction *list, size_t count)
{
	while (count > 0)
		free(list[--count].text);
	free(list);
}
