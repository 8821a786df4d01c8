/* SPDX-License-Identifier: BSD-3-Clause */
/* Readable names, through libiberty's callback interface; see demangle.h.
 *
 * That interface calls no malloc, except for identifiers that rustname.c keeps away from it. Its
 * stack use and time on hostile names are bounded here: by the name's length, by a bound on the one
 * table that grows with the square of the length, and by a jump out once the text is full.
 */
#include "symbols/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <libiberty/demangle.h>
#include <libiberty/safe-ctype.h>

#include "symbols/symbols.h"

/* Maximum length of a C++ name: libiberty takes 72 bytes of stack per character for its tables and
 * up to 350 for its recursion, so 900 characters stay under 400 KiB. (libiberty itself refuses more
 * than 1024.) libiberty limits Rust's recursion to 150 KiB. */
#define CXX_MAX 900
/* Bytes of stack for libiberty's copies of templates: one copy for each reference to a template
 * parameter and for each template. */
#define COPIES_MAX (64 << 10)
#define COPY_SIZE 64
/* Places tried as the start of suffixes. */
#define CUTS_MAX 32

/* The classes of characters that libiberty's Rust demangler asks for. They are defined here so that
 * the linker leaves out libiberty's safe-ctype.o: of what would be linked statically, that object
 * alone lacks the permission to be combined with other programs (docs/licences.md). */
const unsigned short _sch_istable[256] = {
	[0] = _sch_iscntrl | _sch_isnvsp,
	[1 ... 8] = _sch_iscntrl,
	['\t'] = _sch_iscntrl | _sch_isblank | _sch_isspace | _sch_isnvsp,
	['\n'] = _sch_iscntrl | _sch_isspace | _sch_isvsp,
	['\v' ... '\f'] = _sch_iscntrl | _sch_isspace | _sch_isnvsp,
	['\r'] = _sch_iscntrl | _sch_isspace | _sch_isvsp,
	[14 ... 31] = _sch_iscntrl,
	[' '] = _sch_isprint | _sch_isblank | _sch_isspace | _sch_isnvsp,
	['!' ... '/'] = _sch_isprint | _sch_ispunct,
	['0' ... '9'] = _sch_isprint | _sch_isdigit | _sch_isxdigit,
	[':' ... '@'] = _sch_isprint | _sch_ispunct,
	['A' ... 'F'] = _sch_isprint | _sch_isupper | _sch_isxdigit | _sch_isidst,
	['G' ... 'Z'] = _sch_isprint | _sch_isupper | _sch_isidst,
	['[' ... '^'] = _sch_isprint | _sch_ispunct,
	['_'] = _sch_isprint | _sch_ispunct | _sch_isidst,
	['`'] = _sch_isprint | _sch_ispunct,
	['a' ... 'f'] = _sch_isprint | _sch_islower | _sch_isxdigit | _sch_isidst,
	['g' ... 'z'] = _sch_isprint | _sch_islower | _sch_isidst,
	['{' ... '~'] = _sch_isprint | _sch_ispunct,
	[127] = _sch_iscntrl,
};

struct text {
	char *to;
	size_t size, len;
	jmp_buf full;
};

static void take_piece(const char *s, size_t n, void *arg)
{
	struct text *t = arg;

	if (!n) /* then S may be NULL */
		return;
	/* A name that doubles with every letter would go on for ever. */
	if (n >= t->size - t->len)
		_longjmp(t->full, 1);
	memcpy(t->to + t->len, s, n);
	t->len += n;
}

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_word(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '$';
}

static bool copies_fit(const char *s)
{
	size_t references = 0, templates = 0;

	for (; *s; s++) {
		references += (s[0] == 'R' || s[0] == 'O') && (s[1] == 'T' || s[1] == 'S');
		templates += s[0] == 'I' || s[0] == 'J';
	}
	return references * templates <= COPIES_MAX / COPY_SIZE;
}

static bool demangle_as(struct text *t, const char *name, bool rust)
{
	int ok;

	t->len = 0;
	if (_setjmp(t->full))
		return false;
	ok = rust ? rust_demangle_callback(name, 0, take_piece, t)
		  : cplus_demangle_v3_callback(name, 0, take_piece, t);
	return ok && t->len;
}

/* Demangle NAME, which has no suffixes. A legacy Rust name is a C++ name with a hash at its end. */
static bool demangle_plain(struct text *t, const char *name, size_t len)
{
	if (name[1] == 'R')
		return cp_rustname_is_plain(name + 2, len - 2) && demangle_as(t, name, true);
	return demangle_as(t, name, true) ||
	       (len <= CXX_MAX && copies_fit(name) && demangle_as(t, name, false));
}

/* Write the suffixes that GCC and LLVM append to a name (".cold", ".isra.0", ".llvm.123") as
 * c++filt does: " [clone .isra.0]", numbers together with the word before them. "@plt" stays as it
 * is. */
static bool write_suffixes(struct text *t, const char *s)
{
	while (*s == '.') {
		size_t n = 1;

		while (is_word(s[n]))
			n++;
		while (s[n] == '.' && s[n + 1] >= '0' && s[n + 1] <= '9')
			for (n++; is_word(s[n]);)
				n++;
		if (n == 1)
			return false;
		take_piece(" [clone ", 8, t);
		take_piece(s, n, t);
		take_piece("]", 1, t);
		s += n;
	}
	if (*s && *s != '@')
		return false;
	take_piece(s, strlen(s), t);
	return true;
}

static bool append_suffixes(struct text *t, const char *s)
{
	return _setjmp(t->full) ? false : write_suffixes(t, s);
}

/* Returns the next place from S on where suffixes may start: at '@' or a single dot (".." is "::"
 * in legacy Rust). */
static const char *next_suffix(const char *s)
{
	for (s += strcspn(s, ".@"); *s == '.' && !is_word(s[1]); s += strcspn(s, ".@"))
		s += strspn(s, ".");
	return *s ? s : NULL;
}

/* Without parameters libiberty ignores text after a C++ name, and it accepts no dot in a Rust name.
 * So the part before each dot is tried, the shortest first. Legacy Rust names contain dots as well.
 */
static bool demangle_cut(struct text *t, const char *name)
{
	char part[CP_RUSTNAME_MAX + 1];
	const char *cut = name;

	for (int i = 0; i < CUTS_MAX && (cut = next_suffix(cut + 1)); i++) {
		size_t n = (size_t)(cut - name);

		memcpy(part, name, n);
		part[n] = '\0';
		if (demangle_plain(t, part, n))
			return append_suffixes(t, cut);
	}
	/* Only a legacy name contains dots. */
	return name[1] == 'Z' && demangle_as(t, name, true);
}

size_t cp_demangle(const char *mangled, char *to, size_t size)
{
	size_t len = strlen(mangled);
	struct text t = { .to = to, .size = size };
	bool done;

	if (len < 4 || len > CP_RUSTNAME_MAX || size < 2 || mangled[0] != '_' ||
	    (mangled[1] != 'Z' && mangled[1] != 'R'))
		return 0;
	done = mangled[strcspn(mangled, ".@")] ? demangle_cut(&t, mangled)
					       : demangle_plain(&t, mangled, len);
	if (!done)
		return 0;
	to[t.len] = '\0';
	return t.len;
}
