/* SPDX-License-Identifier: BSD-3-Clause */
/* Readable names, through libiberty's callback interface; see demangle.h.
 *
 * That interface calls no malloc, except for identifiers in punycode, which it never gets: a dump
 * must not call malloc while the program is inside malloc. Its stack use and time on hostile names
 * are bounded here: by the name's length, by a bound on the one table that grows with the square of
 * the length, by a bound on lifetimes, and by a jump out once the text is full.
 */
#include "symbols/demangle.h"

#include <setjmp.h>
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
/* Maximum length of a Rust name. */
#define RUST_MAX 16384
/* The most back-references to places where no token was thought to begin. */
#define FOLLOWS_MAX 32
/* The most lifetimes that one "for<...>" of a Rust name may introduce; real names have a dozen at
 * most. libiberty counts them one by one, even if nothing is printed, and a name can claim 2^60. */
#define LIFETIMES_MAX 64

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

	if (!n) /* for N = 0, S may be NULL */
		return;
	/* A malicious name doubles with every letter and would go on for ever. */
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

/* ---- Rust names that libiberty may get ----
 *
 * "read_u32" is common in identifiers, and "G" in numbers, so only their places tell punycode and
 * lifetimes from other letters. Where a token begins is not certain without the whole grammar,
 * because a small letter may be a type, a constant or a disambiguator. So each place is tried where
 * a token may begin under any reading: none is missed, and hardly a name is refused in vain.
 */

/* Returns the place after the number in base 62 and its "_" that are at AT; 0: there are none. "_"
 * is 0, "0_" is 1, and so on. *VALUE may be too small if it is over RUST_MAX, but stays over it. */
static size_t after_number(const char *s, size_t at, unsigned *value)
{
	unsigned v = 0;
	bool is_empty = s[at] == '_';

	for (; _sch_istable[(unsigned char)s[at]] & (_sch_isalpha | _sch_isdigit); at++) {
		char c = s[at];
		int d = c <= '9' ? c - '0' : c >= 'a' ? c - 'a' + 10 : c - 'A' + 36;

		if (v <= RUST_MAX)
			v = v * 62 + (unsigned)d;
	}
	*value = is_empty ? 0 : v + 1;
	return s[at] == '_' ? at + 1 : 0;
}

/* Returns the place after the identifier whose length is at AT; LEN: it ends after the name. */
static size_t after_identifier(const char *s, size_t at, size_t len)
{
	size_t n = (size_t)(s[at] - '0');

	if (s[at++] != '0')
		for (; s[at] >= '0' && s[at] <= '9' && n < len; at++)
			n = n * 10 + (size_t)(s[at] - '0');
	at += s[at] == '_';
	return n < len - at ? at + n : len;
}

static bool is_type_of_constant(char c)
{
	return c && strchr("htmyojaslxnibc", c);
}

/* Returns the place after the constant whose type is the letter at AT; 0: there is none. */
static size_t after_constant(const char *s, size_t at)
{
	if (!is_type_of_constant(s[at]))
		return 0;
	at += 1 + (s[at + 1] == 'n');
	at += strspn(s + at, "0123456789abcdef");
	return s[at] == '_' ? at + 1 : 0;
}

static bool is_basic_type(char c)
{
	return c && strchr("abcdefhijlmnopstuvxyz", c);
}

/* Returns the place after the token at AT, which is neither an identifier nor a small letter; 0:
 * there is none. */
static size_t after_token(const char *s, size_t at)
{
	unsigned value;

	switch (s[at++]) {
	case 'N': return s[at] ? at + 1 : 0;
	case 'K': /* extern "C", or an argument that is a constant */
		if (s[at] == 'C')
			return at + 1;
		return is_type_of_constant(s[at]) ? after_constant(s, at) : at;
	case 'A':
		return is_basic_type(s[at]) && is_type_of_constant(s[at + 1])
			       ? after_constant(s, at + 1)
			       : at;
	case 'B':
	case 'L':
	case 'G': return after_number(s, at, &value);
	case 'C':
	case 'M':
	case 'X': return s[at] == 's' ? after_number(s, at + 1, &value) : at;
	default: return strchr("YIRQPOSTFDEU", s[at - 1]) ? at : 0;
	}
}

/* Tokens that may begin at a place. A constant is reached by back-references. */
enum { TOKEN = 1, IDENTIFIER = 2, CONSTANT = 4 };

/* Marks the place after the token at AT, which is neither an identifier nor a small letter. */
static void mark_token(uint8_t *begins, const char *s, size_t at)
{
	begins[after_token(s, at)] |= strchr("PORQSATYF", s[at]) ? TOKEN : TOKEN | IDENTIFIER;
	if (s[at] == 'K' && s[at + 1])
		begins[at + 1] |= CONSTANT;
	if (s[at] == 'A' && s[at + 1] && s[at + 2])
		begins[at + 2] |= CONSTANT;
}

/* Marks the places after the letter at AT: a type, the disambiguator after a path, or the length of
 * an array. A type before a name stands in inherent implementations only (IS_INHERENT). */
static void mark_letter(uint8_t *begins, const char *s, size_t at, bool is_inherent)
{
	unsigned value;
	size_t constant = after_constant(s, at);

	if (!is_basic_type(s[at]))
		return;
	if (!constant || is_inherent || s[at] == 's')
		begins[at + 1] |= TOKEN | IDENTIFIER;
	begins[constant] |= TOKEN | IDENTIFIER;
	if (s[at] == 's')
		begins[after_number(s, at + 1, &value)] |= TOKEN | IDENTIFIER;
}

/* Can there be punycode, or a binder of very many lifetimes, at AT? */
static bool is_refused(const char *s, size_t at, uint8_t begins)
{
	unsigned lifetimes;

	if (s[at] == 'u')
		return (begins & IDENTIFIER) && s[at + 1] >= '0' && s[at + 1] <= '9';
	return s[at] == 'G' && after_number(s, at + 1, &lifetimes) && lifetimes > LIFETIMES_MAX;
}

/* Marks what the back-reference at AT leads to. Returns true if that lies before AT and was not
 * looked at, as in an identifier; *AT is then that place. */
static bool follow(uint8_t *begins, const char *s, size_t *at, size_t len)
{
	unsigned to;

	if (s[*at] != 'B' || !after_number(s, *at + 1, &to) || to >= len || begins[to])
		return false;
	begins[to] = TOKEN | IDENTIFIER;
	if (to > *at)
		return false;
	*at = to;
	return true;
}

/* Returns false if libiberty should not get the Rust name whose LEN bytes after "_R" are S. A NUL
 * follows them. */
static bool is_plain_rust(const char *s, size_t len)
{
	uint8_t begins[RUST_MAX + 1];
	unsigned follows = 0;
	bool is_inherent = false;

	memset(begins, 0, len + 1);
	begins[0] = TOKEN;
	for (size_t at = 0; at < len; at++) {
		if (!(begins[at] & (TOKEN | IDENTIFIER)))
			continue;
		if (is_refused(s, at, begins[at]))
			return false;
		is_inherent |= s[at] == 'M';
		if (s[at] >= '0' && s[at] <= '9')
			begins[after_identifier(s, at, len)] |= TOKEN | IDENTIFIER;
		else if (s[at] >= 'a' && s[at] <= 'z')
			mark_letter(begins, s, at, is_inherent);
		else
			mark_token(begins, s, at);
		if (follow(begins, s, &at, len)) {
			if (follows++ == FOLLOWS_MAX)
				return false;
			at--;
		}
	}
	return true;
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
		return is_plain_rust(name + 2, len - 2) && demangle_as(t, name, true);
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
	char part[RUST_MAX + 1];
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

	if (len < 4 || len > RUST_MAX || size < 2 || mangled[0] != '_' ||
	    (mangled[1] != 'Z' && mangled[1] != 'R'))
		return 0;
	done = mangled[strcspn(mangled, ".@")] ? demangle_cut(&t, mangled)
					       : demangle_plain(&t, mangled, len);
	if (!done)
		return 0;
	to[t.len] = '\0';
	return t.len;
}
