/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of C++ functions that have no linkage name, because only their own file can call them. */
#ifndef CT_DWARF_NAMES_H
#define CT_DWARF_NAMES_H

#include "dwarf/dwarf_walk.h"

/* Names that were composed, by their entries. */
struct ct_dw_names {
	struct ct_dw_name *table;
	size_t count, room;
};

/* Was U compiled from C++? */
bool ct_dwarf_names_are_cxx(const struct ct_dw_unit *u);

/* Returns F's name with its namespaces, classes and functions around it, as the demangler writes
 * names without parameters: "svc::(anonymous namespace)::box<int>::get",
 * "worker(int)::{lambda(int)#2}::operator()". The name is kept in TEXTS. Returns F's plain name if
 * memory runs out or the name is too long. */
const char *ct_dwarf_names_of(struct ct_dw_names *names, const struct ct_dw_function *f,
			      struct ct_dw_texts *texts);
void ct_dwarf_names_release(struct ct_dw_names *names);

#endif
