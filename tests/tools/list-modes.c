/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the modes of the library, as its table has them, for tests that must forget none: a line
 * for each mode or companion, of words that tabs separate: its name, its parent's name, the
 * variable of the parent's file, what is added to the name of the file ("" of the parent itself),
 * and its types; one whose values are of the moment begins with "@".
 */
#include <stdio.h>

#include "output/output.h"
#include "settings/settings.h"

static void list(const struct cp_mode_ops *m)
{
	const struct cp_mode_ops *parent = cp_modes[m->parent];

	printf("%s\t%s\t%s\t%s", m->name, parent->name, parent->settings->variable,
	       m == parent ? ""
	       : m->suffix ? m->suffix
			   : m->name);
	for (unsigned t = 0; t < m->type_count; t++)
		printf("\t%s%s", m->moments & 1u << t ? "@" : "", m->types[t].type);
	putchar('\n');
}

int main(void)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_modes[m])
			list(cp_modes[m]);
	return 0;
}
