/* SPDX-License-Identifier: BSD-3-Clause */
/* Qualified names; see dwarf.h. */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/demangle.h"

#define NAME_MAX_BYTES 4096
#define SIGNATURE_MAX 512
/* Limits against hostile data: types of types, functions within functions. */
#define NESTED_MAX 32
#define STEPS_MAX 200000

/* An entry, and its attributes. */
struct at {
	const struct ct_dw_unit *u;
	uint64_t offset;
	uint16_t tag;
	struct ct_dw_entry e;
};

/* Some versions of dwarf.h lack some of these. */
static bool is_cxx(uint64_t language)
{
	switch (language) {
	case 0x04: /* C++98 */
	case 0x1a: /* C++11 */
	case 0x21: /* C++14 */
	case 0x2b: /* C++17 */
	case 0x2c: /* C++20 */
	case 0x3a: /* C++23 */ return true;
	default: return false;
	}
}

bool ct_dwarf_names_are_cxx(const struct ct_dw_unit *u)
{
	struct ct_dw_entry e;

	return ct_dwarf_unit_root(u, &e) && is_cxx(e.at[CT_DW_LANGUAGE].u);
}

/* Number of entries that may still be read for the current name. */
static unsigned steps_left;

static bool count_step(void)
{
	return steps_left && steps_left--;
}

static bool read_at(struct at *a)
{
	return count_step() && ct_dwarf_walk_entry(a->u, a->offset, &a->e, &a->tag);
}

/* Moves A to the entry that A refers to as its origin or declaration: that entry, not A, is inside
 * the scope that A belongs to. */
static bool find_origin(struct at *a)
{
	bool known = read_at(a);

	for (int hop = 0; known && hop < NESTED_MAX; hop++) {
		if (!ct_dwarf_walk_origin(&a->u, &a->offset, &a->e))
			return true;
		known = read_at(a);
	}
	return false;
}

static const char *name_of(const struct at *a)
{
	const struct ct_dw_value *v = &a->e.at[CT_DW_NAME];
	const char *name = v->form ? ct_dwarf_form_text(a->u, v) : NULL;

	return name && *name ? name : NULL;
}

static void put_text(struct ct_dw_text *t, const char *text)
{
	ct_dwarf_spelling_put(t, text, strlen(text));
}

static bool put_place(struct ct_dw_text *t, const struct ct_dw_unit *u, uint64_t offset,
		      int nested);

/* ---- children ---- */

/* Iterates over the children of an entry. */
struct children {
	const struct ct_dw_unit *u;
	const struct ct_dw_abbrevs *abbrevs;
	struct ct_dw_cursor c;
	unsigned depth;
};

static void begin_children(struct children *k, const struct ct_dw_unit *u, uint64_t parent)
{
	const struct ct_dw_abbrev *a;

	*k = (struct children){ .u = u, .abbrevs = ct_dwarf_abbrev_of(u) };
	k->c = ct_dw_cursor(u->file->section[CT_DW_INFO], parent, u->end);
	a = k->abbrevs ? ct_dwarf_abbrev_find(k->abbrevs, ct_dw_uleb(&k->c)) : NULL;
	if (!a || !a->children)
		return;
	ct_dwarf_abbrev_step(k->abbrevs, a, &k->c);
	k->depth = 1;
}

/* Moves to the next child of the entry itself, not of its children. */
static bool next_child(struct children *k, struct at *to)
{
	const uint8_t *data = k->u->file->section[CT_DW_INFO].data;

	while (k->depth && k->c.p < k->c.end && !k->c.bad && count_step()) {
		uint64_t offset = (uint64_t)(k->c.p - data), code = ct_dw_uleb(&k->c);
		const struct ct_dw_abbrev *a = code ? ct_dwarf_abbrev_find(k->abbrevs, code) : NULL;
		bool own = k->depth == 1;

		if (!code) {
			k->depth--;
			continue;
		}
		if (!a)
			return false;
		k->depth += a->children;
		if (!own) {
			ct_dwarf_abbrev_step(k->abbrevs, a, &k->c);
			continue;
		}
		*to = (struct at){ .u = k->u, .offset = offset, .tag = a->tag };
		ct_dwarf_unit_entry(k->u, k->abbrevs, a, &k->c, &to->e);
		return !k->c.bad;
	}
	return false;
}

/* ---- types ---- */

/* Finds the entry of an entry's type. Returns false if the entry has no type, which means void, or
 * if the type can't be found. */
static bool type_of(const struct at *from, struct at *to)
{
	const struct ct_dw_value *v = &from->e.at[CT_DW_TYPE];
	struct ct_dw_file *file;

	to->u = from->u;
	if (!v->form || !ct_dwarf_form_entry(from->u, v, &file, &to->offset))
		return false;
	if (file != to->u->file || to->offset < to->u->root || to->offset >= to->u->end)
		to->u = ct_dwarf_unit_at(file, to->offset);
	return to->u && read_at(to);
}

static const char *after_type(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_pointer_type: return "*";
	case DW_TAG_reference_type: return "&";
	case DW_TAG_rvalue_reference_type: return "&&";
	case DW_TAG_const_type: return " const";
	case DW_TAG_volatile_type: return " volatile";
	case DW_TAG_typedef: return "";
	default: return NULL;
	}
}

/* Writes the type of FROM. Returns false if it is a type that can't be written here (a function, an
 * array, a member). */
static bool put_type(struct ct_dw_text *t, const struct at *from, int nested)
{
	struct at a;

	if (!from->e.at[CT_DW_TYPE].form) {
		put_text(t, "void");
		return true;
	}
	if (nested > NESTED_MAX || !type_of(from, &a))
		return false;
	if (a.tag == DW_TAG_base_type && name_of(&a)) {
		ct_dwarf_spelling_name(t, name_of(&a));
		return true;
	}
	if (after_type(a.tag)) {
		if (!put_type(t, &a, nested + 1))
			return false;
		put_text(t, after_type(a.tag));
		return true;
	}
	return (a.tag == DW_TAG_class_type || a.tag == DW_TAG_structure_type ||
		a.tag == DW_TAG_union_type || a.tag == DW_TAG_enumeration_type) &&
	       put_place(t, a.u, a.offset, nested + 1);
}

/* A const at the top of a parameter's type is no part of the function's type. */
static bool put_parameter(struct ct_dw_text *t, const struct at *parameter, int nested)
{
	struct at a;

	if (type_of(parameter, &a) && a.tag == DW_TAG_const_type)
		return put_type(t, &a, nested);
	return put_type(t, parameter, nested);
}

/* Is the parameter a "this" pointer to a const object? */
static bool points_to_const(const struct at *parameter)
{
	struct at a, b;

	if (!type_of(parameter, &a))
		return false;
	if (a.tag == DW_TAG_const_type && type_of(&a, &b))
		a = b;
	return a.tag == DW_TAG_pointer_type && type_of(&a, &b) && b.tag == DW_TAG_const_type;
}

/* Writes "(int, char const*)" for the function at OFFSET. CONSTANT: the function is a const member.
 * Returns false if a type can't be written. */
static bool put_parameters(struct ct_dw_text *t, const struct ct_dw_unit *u, uint64_t offset,
			   bool *constant, int nested)
{
	struct children k;
	struct at a;
	bool first = true;

	*constant = false;
	put_text(t, "(");
	begin_children(&k, u, offset);
	while (next_child(&k, &a)) {
		if (a.tag == DW_TAG_formal_parameter && a.e.at[CT_DW_ARTIFICIAL].u) {
			*constant |= points_to_const(&a);
			continue;
		}
		if (a.tag != DW_TAG_formal_parameter && a.tag != DW_TAG_unspecified_parameters)
			continue;
		if (!first)
			put_text(t, ", ");
		first = false;
		if (a.tag == DW_TAG_unspecified_parameters)
			put_text(t, "...");
		else if (!put_parameter(t, &a, nested))
			return false;
	}
	put_text(t, ")");
	return true;
}

/* ---- lambdas ---- */

/* Finds the call operator of the class at OFFSET. A class that has one but no name is a lambda's.
 */
static bool find_call_operator(const struct ct_dw_unit *u, uint64_t offset, struct at *to)
{
	struct children k;

	begin_children(&k, u, offset);
	while (next_child(&k, to)) {
		const char *name = to->tag == DW_TAG_subprogram ? name_of(to) : NULL;

		if (name && !strncmp(name, "operator()", 10))
			return true;
	}
	return false;
}

static bool is_nameless(const struct at *a)
{
	const char *name = name_of(a);

	return !name || !strncmp(name, "<lambda", 7);
}

/* Writes "(int)" for a lambda with one int parameter; "" if its types can't be written. */
static void put_signature(char *to, const struct at *operator, int nested)
{
	struct ct_dw_text t = { to, SIGNATURE_MAX, 0, 0 };
	bool constant;

	if (!put_parameters(&t, operator->u, operator->offset, &constant, nested) || t.full)
		*to = '\0';
}

/* Does B come before A in the source, and differ from A? */
static bool comes_before(const struct at *b, const struct at *a)
{
	const struct ct_dw_value *x = b->e.at, *y = a->e.at;

	if (b->offset == a->offset)
		return false;
	if (x[CT_DW_DECL_LINE].u != y[CT_DW_DECL_LINE].u)
		return x[CT_DW_DECL_LINE].u < y[CT_DW_DECL_LINE].u;
	if (x[CT_DW_DECL_COLUMN].u != y[CT_DW_DECL_COLUMN].u)
		return x[CT_DW_DECL_COLUMN].u < y[CT_DW_DECL_COLUMN].u;
	return b->offset < a->offset;
}

/* Lambdas of one function with the same parameters are numbered from 1, as in mangled names. */
static void put_lambda(struct ct_dw_text *t, const struct at *a, const struct at *operator,
		       int nested)
{
	const struct ct_dw_parents *parents = ct_dwarf_parents_of(a->u);
	char own[SIGNATURE_MAX], other[SIGNATURE_MAX], number[32];
	uint32_t around;
	unsigned before = 0;

	if (!parents)
		return;
	around = ct_dwarf_parents_find(parents, a->offset);
	put_signature(own, operator, nested);
	for (size_t i = around == CT_DW_NO_PARENT ? 0 : around; i < parents->count; i++) {
		const struct ct_dw_parent *p = &parents->list[i];
		struct at b = { .u = a->u, .offset = p->entry }, called;

		if (around != CT_DW_NO_PARENT && p->entry >= parents->list[around].end)
			break;
		if (p->parent != around ||
		    (p->tag != DW_TAG_class_type && p->tag != DW_TAG_structure_type))
			continue;
		if (!read_at(&b) || !is_nameless(&b) || !comes_before(&b, a) ||
		    !find_call_operator(b.u, b.offset, &called))
			continue;
		put_signature(other, &called, nested);
		before += !strcmp(own, other);
	}
	put_text(t, "{lambda");
	put_text(t, own);
	snprintf(number, sizeof(number), "#%u}", before + 1);
	put_text(t, number);
}

/* ---- places ---- */

/* Writes the name of a function that contains another entry. Its parameters are then part of the
 * name, except for main and for extern "C" functions. */
static bool put_function(struct ct_dw_text *t, const struct at *a, bool within, int nested)
{
	const char *name = name_of(a);
	bool constant;

	if (!name)
		return false;
	ct_dwarf_spelling_name(t, name);
	if (!within && a->e.at[CT_DW_EXTERNAL].u)
		return true;
	if (!put_parameters(t, a->u, a->offset, &constant, nested))
		return false;
	if (constant)
		put_text(t, " const");
	return true;
}

/* Writes the scope of a function's local variable by the function's linkage name, demangled. */
static bool put_linkage(struct ct_dw_text *t, const char *linkage)
{
	char mangled[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	size_t n;

	if (strncmp(linkage, "_Z", 2) != 0 || strpbrk(linkage, ".@"))
		return false;
	n = (size_t)snprintf(mangled, sizeof(mangled), "_ZZ%sE1x", linkage + 2);
	if (n >= sizeof(mangled))
		return false;
	n = cp_demangle(mangled, name, sizeof(name));
	if (n < 4 || strcmp(name + n - 3, "::x") != 0)
		return false;
	ct_dwarf_spelling_put(t, name, n - 3);
	return true;
}

static bool put_named(struct ct_dw_text *t, const struct at *a, bool within, int nested)
{
	const char *name = name_of(a);
	struct at operator;

	switch (a->tag) {
	case DW_TAG_subprogram: return put_function(t, a, within, nested);
	case DW_TAG_namespace: put_text(t, name ? name : "(anonymous namespace)"); return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		if (!is_nameless(a))
			break;
		if (find_call_operator(a->u, a->offset, &operator))
			put_lambda(t, a, &operator, nested);
		else
			put_text(t, "{unnamed type}");
		return true;
	default: break;
	}
	if (name)
		ct_dwarf_spelling_name(t, name);
	else
		put_text(t, "{unnamed type}");
	return true;
}

/* Writes the name of the scope that contains the entry at OFFSET, followed by "::". */
static bool put_around(struct ct_dw_text *t, const struct ct_dw_unit *u, uint64_t offset,
		       int nested)
{
	const struct ct_dw_parents *parents = ct_dwarf_parents_of(u);
	uint32_t around = parents ? ct_dwarf_parents_find(parents, offset) : CT_DW_NO_PARENT;

	if (around == CT_DW_NO_PARENT)
		return parents != NULL;
	if (!put_place(t, u, parents->list[around].entry, nested + 1))
		return false;
	put_text(t, "::");
	return true;
}

/* Writes the name of the namespace, class or function at OFFSET with all scopes that contain it. */
static bool put_place(struct ct_dw_text *t, const struct ct_dw_unit *u, uint64_t offset, int nested)
{
	struct at a = { .u = u, .offset = offset };
	struct ct_dw_function f;
	size_t begin = t->length;

	if (nested > NESTED_MAX || !find_origin(&a))
		return false;
	if (a.tag == DW_TAG_subprogram) {
		ct_dwarf_walk_function_of(u, offset, &f);
		if (f.is_linkage && put_linkage(t, f.name))
			return true;
	}
	return put_around(t, a.u, a.offset, nested) && put_named(t, &a, t->length > begin, nested);
}

/* ---- names that were requested ---- */

struct ct_dw_name {
	const struct ct_dw_file *file; /* NULL: free */
	uint64_t entry;
	const char *name;
};

static struct ct_dw_name *slot_of(const struct ct_dw_names *n, const struct ct_dw_function *f)
{
	size_t i = (f->entry * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (n->room - 1);

	while (n->table[i].file &&
	       (n->table[i].file != f->unit->file || n->table[i].entry != f->entry))
		i = (i + 1) & (n->room - 1);
	return &n->table[i];
}

static bool grow_names(struct ct_dw_names *n)
{
	struct ct_dw_names more = { .count = n->count, .room = n->room ? n->room * 2 : 64 };

	more.table = calloc(more.room, sizeof(*more.table));
	if (!more.table)
		return false;
	for (size_t i = 0; i < n->room; i++) {
		struct ct_dw_unit u = { .file = (struct ct_dw_file *)n->table[i].file };
		struct ct_dw_function f = { .unit = &u, .entry = n->table[i].entry };

		if (u.file)
			*slot_of(&more, &f) = n->table[i];
	}
	free(n->table);
	*n = more;
	return true;
}

static const char *make_name(const struct ct_dw_function *f, struct ct_dw_texts *texts)
{
	char name[NAME_MAX_BYTES] = "";
	struct ct_dw_text t = { name, sizeof(name), 0, 0 };

	steps_left = STEPS_MAX;
	if (!put_around(&t, f->unit, f->entry, 0) || !steps_left)
		t.full = 1;
	ct_dwarf_spelling_name(&t, f->name);
	if (t.full)
		return ct_dwarf_texts_keep(texts, f->name, strlen(f->name));
	return ct_dwarf_texts_keep(texts, name, t.length);
}

const char *ct_dwarf_names_of(struct ct_dw_names *names, const struct ct_dw_function *f,
			      struct ct_dw_texts *texts)
{
	struct ct_dw_name *slot;

	if (names->count * 2 >= names->room && !grow_names(names))
		return make_name(f, texts);
	slot = slot_of(names, f);
	if (!slot->file) {
		*slot = (struct ct_dw_name){ f->unit->file, f->entry, make_name(f, texts) };
		names->count++;
	}
	return slot->name;
}

void ct_dwarf_names_release(struct ct_dw_names *names)
{
	free(names->table);
	*names = (struct ct_dw_names){ 0 };
}

/* ---- members of variables ---- */

/* Moves A past typedefs and the like. Returns false if there is no type. */
static bool skip_typedefs(struct at *a)
{
	struct at b = *a;

	for (int hop = 0; after_type(b.tag) && b.tag != DW_TAG_pointer_type; hop++) {
		if (hop == NESTED_MAX || !type_of(&b, a))
			return false;
		b = *a;
	}
	return true;
}

/* The place of a virtual base is an expression. */
static bool has_place(const struct at *a)
{
	return ct_dwarf_form_size(a->e.at[CT_DW_MEMBER_LOCATION].form, a->u->version,
				  a->u->address_size, a->u->offset_size) >= CT_DW_LEB;
}

/* Finds the member or base of STRUCTURE that begins last of those up to OFFSET. */
static bool find_member(const struct at *structure, uint64_t offset, struct at *to)
{
	struct children k;
	struct at a;
	bool found = false;

	begin_children(&k, structure->u, structure->offset);
	while (next_child(&k, &a)) {
		if ((a.tag != DW_TAG_member && a.tag != DW_TAG_inheritance) || !has_place(&a) ||
		    a.e.at[CT_DW_MEMBER_LOCATION].u > offset ||
		    (found && a.e.at[CT_DW_MEMBER_LOCATION].u < to->e.at[CT_DW_MEMBER_LOCATION].u))
			continue;
		*to = a;
		found = true;
	}
	return found;
}

/* Moves TYPE to the type of its member at OFFSET. What begins with an underscore is a part of the
 * library's own lock. */
static bool put_member(char **text, struct at *type, uint64_t *offset)
{
	const char *name;
	struct at member;
	char *longer;

	if (!find_member(type, *offset, &member))
		return false;
	name = member.tag == DW_TAG_member ? name_of(&member) : NULL;
	if ((name && *name == '_') || !type_of(&member, type))
		return false;
	*offset -= member.e.at[CT_DW_MEMBER_LOCATION].u;
	if (!name)
		return true;
	longer = ct_memory_printf("%s.%s", *text, name);
	free(*text);
	*text = longer;
	return true;
}

/* Returns ".cv", which the caller frees; "": the place is in no named member. */
static char *member_text(struct at *type, uint64_t offset)
{
	char *text = ct_memory_strdup(""), *whole;
	bool deeper = true;

	for (int nested = 0; deeper && nested < NESTED_MAX && skip_typedefs(type); nested++)
		deeper = (type->tag == DW_TAG_class_type || type->tag == DW_TAG_structure_type) &&
			 put_member(&text, type, &offset);
	if (!*text || !offset)
		return text;
	whole = ct_memory_printf("%s+0x%llx", text, (unsigned long long)offset);
	free(text);
	return whole;
}

static void add_member(struct ct_dwarf_member *m, const struct at *variable)
{
	struct at type;
	char *text;

	if (!type_of(variable, &type))
		return;
	text = member_text(&type, m->offset);
	if (!m->member) {
		m->member = text;
		return;
	}
	if (strcmp(m->member, text) != 0)
		*m->member = '\0';
	free(text);
}

static void see_variable(struct at *a, struct ct_dwarf_member *m, size_t n,
			 struct ct_dw_texts *texts)
{
	char readable[NAME_MAX_BYTES];
	struct ct_dw_function f;
	const char *name;

	ct_dwarf_walk_function_of(a->u, a->offset, &f);
	if (!f.name || !find_origin(a))
		return;
	if (f.is_linkage)
		name = cp_demangle(f.name, readable, sizeof(readable)) ? readable : f.name;
	else
		name = make_name(&f, texts);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(m[i].variable, name))
			add_member(&m[i], a);
}

static void see_variables(const struct ct_dw_unit *u, uint64_t parent, struct ct_dwarf_member *m,
			  size_t n, struct ct_dw_texts *texts, int nested)
{
	struct children k;
	struct at a;

	steps_left = STEPS_MAX;
	begin_children(&k, u, parent);
	while (next_child(&k, &a)) {
		if (a.tag == DW_TAG_variable)
			see_variable(&a, m, n, texts);
		else if (a.tag == DW_TAG_namespace && nested < NESTED_MAX)
			see_variables(u, a.offset, m, n, texts, nested + 1);
		steps_left = STEPS_MAX;
	}
}

void ct_dwarf_names_members(const struct ct_dw_unit *u, struct ct_dwarf_member *m, size_t n,
			    struct ct_dw_texts *texts)
{
	struct ct_dw_entry e;

	/* Rust's locks are structures whose members are the library's. */
	if (ct_dwarf_unit_root(u, &e) && e.at[CT_DW_LANGUAGE].u != DW_LANG_Rust)
		see_variables(u, u->root, m, n, texts, 0);
}
