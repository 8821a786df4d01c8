/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's own code; see report.h. */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

#include "core/model.h"

enum answer { UNKNOWN, NO, YES };

struct module {
	const char *name; /* without directories; may be empty */
	bool is_own, is_runtime, is_jit;
};

struct ct_own {
	const struct ct_profile *p;
	struct ct_regex *which;
	struct module *modules;	  /* by mapping */
	unsigned char *functions; /* by function: enum answer, whether it may be own code */
};

const char *ct_own_asked;

const struct ct_option ct_own_options[] = {
	CT_TEXT("own", "REGEX", &ct_own_asked,
		"your code: functions and modules that match (default: the program and "
		"modules beside it); -own= omits top's table"),
	CT_END
};

static size_t directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Returns the length of the part of PROGRAM's path that is the program's own directory: /opt/app
 * for /opt/app/bin/app. Returns 0 if the program is in a directory that all programs share, such as
 * /usr/bin. */
static size_t home_of(const char *program)
{
	static const char *const shared[] = { "/bin",
					      "/sbin",
					      "/usr/bin",
					      "/usr/sbin",
					      "/usr/local/bin",
					      "/usr/local/sbin",
					      "/usr/libexec",
					      "/usr/lib",
					      "/usr/lib64",
					      "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/lib",
					      "/lib64" };
	size_t n = directory_of(program);

	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (strlen(shared[i]) == n && ct_starts(program, shared[i]))
			return 0;
	return n > 4 && !strncmp(program + n - 4, "/bin", 4) ? n - 4 : n;
}

bool ct_own_is_beside(const char *path, const char *program)
{
	size_t home = home_of(program);

	return !strcmp(path, program) ||
	       (home && !strncmp(path, program, home) && path[home] == '/');
}

/* Is NAME the name of a library called STEM? "libc" matches "libc.so.6" and "libc-2.31.so", but not
 * "libcurl.so.4". */
static bool is_library(const char *name, const char *stem)
{
	size_t n = strlen(stem);

	return ct_starts(name, stem) &&
	       (name[n] == '.' || (name[n] == '-' && name[n + 1] >= '0' && name[n + 1] <= '9'));
}

bool ct_own_is_runtime_module(const char *path)
{
	static const char *const stems[] = { "libc",	  "libstdc++", "libm",	     "libgcc_s",
					     "libc++",	  "libc++abi", "libmvec",    "librt",
					     "libdl",	  "ld",	       "libpthread", "libresolv",
					     "libsupc++", "libcprof" };
	static const char *const begins[] = { "ld-linux", "ld-musl", "libjemalloc", "libtcmalloc",
					      "libmimalloc" };
	const char *name = ct_base_name(path);

	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++)
		if (is_library(name, stems[i]))
			return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ct_starts(name, begins[i]))
			return true;
	return !strcmp(name, "[vdso]");
}

bool ct_own_is_in_system(const char *path)
{
	static const char *const system[] = { "/usr/",	     "/lib",   "/bin/",
					      "/sbin/",	     "/snap/", "/nix/store/",
					      "/gnu/store/", "/dev/",  "/memfd:" };

	for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++)
		if (ct_starts(path, system[i]))
			return true;
	return false;
}

/* A library elsewhere is the user's: an interpreter's extension, a plug-in. */
static bool is_outside_system(const char *path)
{
	return path[0] == '/' && path[1] != '/' && strstr(ct_base_name(path), ".so") &&
	       !ct_own_is_in_system(path);
}

static bool is_own_module(const char *path, const char *program)
{
	/* Code that a runtime compiled belongs to the script. */
	if (!strcmp(path, program) || ct_own_jit_is_path(path))
		return true;
	return !ct_own_is_runtime_module(path) &&
	       (is_outside_system(path) || ct_own_is_beside(path, program));
}

/* Besides the first mapping, the programs of other processes whose profiles were merged. Other
 * files with code that are no shared libraries hold what a runtime has compiled. */
bool ct_own_is_program(const struct ct_profile *p, size_t mapping)
{
	const char *path = ct_text(p, p->mappings[mapping].file), *slash = strrchr(path, '/');

	if (!mapping)
		return *path;
	return path[0] == '/' && path[1] != '/' && !strstr(slash, ".so") && !strchr(path, ' ') &&
	       !ct_starts(path, "/dev/") && !ct_starts(path, "/memfd:") &&
	       !ct_starts(path, "/anon_") && !ct_own_jit_is_path(path);
}

const char *ct_own_program_name(const struct ct_profile *p, size_t mapping)
{
	static const char begin[] = "program: ", as[] = ", started as ";
	const char *file = ct_base_name(ct_text(p, p->mappings[mapping].file)), *name = NULL;
	size_t n = strlen(file);

	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i);

		if (!ct_starts(text, begin))
			continue;
		text += sizeof(begin) - 1;
		if (strncmp(text, file, n) != 0 || !ct_starts(text + n, as))
			continue;
		text += n + sizeof(as) - 1;
		if (name && strcmp(name, text) != 0)
			return file;
		name = text;
	}
	return name ? name : file;
}

/* Returns TEXT with NAME in place of FILE if it is a place, "FILE+0x1234"; else 0. */
static uint32_t place_in(struct ct_profile *p, uint32_t text, const char *file, const char *name)
{
	const char *old = ct_text(p, text);
	size_t n = strlen(file);
	uint32_t string;
	char *whole;

	if (!ct_starts(old, file) || !ct_starts(old + n, "+0x") || !ct_own_jit_is_bare(old))
		return 0;
	whole = ct_memory_printf("%s%s", name, old + n);
	string = ct_model_string(p, whole);
	free(whole);
	return string;
}

void ct_own_name_places(struct ct_profile *p)
{
	for (size_t i = 0; i < p->mapping_count; i++) {
		const char *file = ct_base_name(ct_text(p, p->mappings[i].file));
		const char *name = ct_own_is_program(p, i) ? ct_own_program_name(p, i) : file;
		bool differs = strcmp(name, file) != 0;
		uint32_t text;

		for (size_t k = 0; differs && k < p->function_count; k++)
			if ((text = place_in(p, p->functions[k].name, file, name)))
				p->functions[k].name = p->functions[k].system_name = text;
		/* Locks, too, have such names. */
		for (size_t k = 0; differs && k < p->label_count; k++)
			if ((text = place_in(p, p->labels[k].text, file, name)))
				p->labels[k].text = text;
	}
}

static bool is_of_a_program(const struct ct_profile *p, const char *path)
{
	for (size_t i = 0; i < p->mapping_count; i++)
		if (ct_own_is_program(p, i) && is_own_module(path, ct_text(p, p->mappings[i].file)))
			return true;
	return ct_own_jit_is_path(path);
}

/* "core" and "alloc" are crates of Rust, and also names that people give their own C++ namespaces.
 */
static bool may_be_rust(const char *mangled, const char *file)
{
	size_t n = strlen(file);
	const char *hash = strstr(mangled, "17h");

	if (n)
		return n > 3 && !strcmp(file + n - 3, ".rs");
	if (!ct_starts(mangled, "_Z"))
		return true;
	return hash && strspn(hash + 3, "0123456789abcdef") == 16 && hash[19] == 'E';
}

static bool is_library_file(const char *file)
{
	return ct_starts(file, "/usr/include/") || ct_starts(file, "/usr/local/include/") ||
	       strstr(file, "/include/c++/") || ct_starts(file, "/rustc/") ||
	       ct_starts(file, "/rust/deps/") || strstr(file, "/jemalloc/internal/") ||
	       strstr(file, "/src/jemalloc.c") || strstr(file, "/tikv-jemalloc-sys-");
}

bool ct_own_is_library_function(const char *name, const char *mangled, const char *file)
{
	/* The last ones are libc's and libcprof's, in a program that is linked statically. */
	static const char *const begins[] = {
		"std::",    "hashbrown::", "<hashbrown::", "__gnu_cxx::", "__cxxabiv1::",
		"<alloc::", "<core::",	   "<std::",	   "__rust_",	  "operator new",
		"je_",	    "mi_",	   "tcmalloc::",   "__libc_",	  "operator delete",
		"_dl_",	    "__GI_",	   "_rjem_",	   "__rustc::",	  "<tikv_jemallocator::",
		"PyMem_",   "_PyMem_",	   "pthread_",	   "__pthread_",  "___pthread_",
		"__lll_",   "__futex_",	   "_IO_",	   "__wrap_"
	};
	static const char *const names[] = { "malloc",
					     "calloc",
					     "realloc",
					     "free",
					     "memalign",
					     "_start",
					     "_init",
					     "_fini",
					     "aligned_alloc",
					     "posix_memalign",
					     "PyObject_Malloc",
					     "_PyObject_Malloc",
					     "PyObject_Calloc",
					     "_PyObject_Calloc",
					     "PyObject_Realloc",
					     "_PyObject_Realloc" };

	/* A stub that jumps into a library is not own code. */
	if (ct_ends(name, "@plt"))
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ct_starts(name, begins[i]))
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return is_library_file(file) ||
	       ((ct_starts(name, "core::") || ct_starts(name, "alloc::")) &&
		may_be_rust(mangled, file));
}

struct ct_own *ct_own_new(const struct ct_profile *p, const char *which)
{
	struct ct_own *o = ct_memory_alloc(sizeof(*o));

	o->p = p;
	if (which && !(o->which = ct_regex_new("own", which))) {
		free(o);
		return NULL;
	}
	o->modules = ct_memory_alloc((p->mapping_count + 1) * sizeof(*o->modules));
	o->functions = ct_memory_alloc(p->function_count + 1);
	for (size_t i = 0; i < p->mapping_count; i++) {
		const char *path = ct_text(p, p->mappings[i].file);

		o->modules[i] = (struct module){
			.name = ct_base_name(path),
			.is_own = *path && (which ? ct_regex_match(o->which, path)
						  : is_of_a_program(p, path)),
			.is_runtime = ct_own_is_runtime_module(path),
			.is_jit = ct_own_jit_is_path(path),
		};
	}
	return o;
}

void ct_own_free(struct ct_own *o)
{
	if (!o)
		return;
	ct_regex_free(o->which);
	free(o->modules);
	free(o->functions);
	free(o);
}

static bool decide(struct ct_own *o, const struct ct_function *f)
{
	const char *name = ct_text(o->p, f->name);

	if (o->which)
		return ct_regex_match(o->which, name);
	return !ct_own_is_library_function(name, ct_text(o->p, f->system_name),
					   ct_text(o->p, f->filename));
}

static bool may_be_own(struct ct_own *o, uint32_t function)
{
	unsigned char *known = &o->functions[function];

	if (*known == UNKNOWN)
		*known = decide(o, &o->p->functions[function]) ? YES : NO;
	return *known == YES;
}

static bool is_own_place(const struct ct_own *o, const struct ct_location *l, const char *name)
{
	if (l->mapping != CT_NONE)
		return o->modules[l->mapping].is_own;
	/* Files of Go and of other tools may have no mappings; then all code belongs to the
	 * program. */
	return !o->which && (!o->p->mapping_count || ct_own_jit_is(o->p, l, name));
}

bool ct_own_is(struct ct_own *o, const struct ct_location *l, const struct ct_line *line)
{
	bool named = line && line->function != CT_NONE, place;

	place = is_own_place(o, l,
			     named ? ct_text(o->p, o->p->functions[line->function].name) : "");
	if (!named)
		return place;
	return o->which ? place || may_be_own(o, line->function)
			: place && may_be_own(o, line->function);
}

int ct_own_line(struct ct_own *o, const struct ct_location *l)
{
	for (uint32_t i = 0; i < l->line_count; i++)
		if (ct_own_is(o, l, &o->p->lines[l->first_line + i]))
			return (int)i;
	return !l->line_count && ct_own_is(o, l, NULL) ? 0 : -1;
}

const char *ct_own_module(const struct ct_own *o, size_t i, bool *is_own)
{
	const struct ct_profile *p = o->p;
	const struct ct_sample *s = &p->samples[i];
	static const struct module none = { .name = "" };
	const char *found = "[no module]";

	*is_own = false;
	for (uint32_t k = 0; k < s->depth; k++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[k]];
		const struct module *m = l->mapping == CT_NONE ? &none : &o->modules[l->mapping];

		if (m == &none ? ct_own_jit_is(p, l, "") : m->is_jit) {
			*is_own = is_own_place(o, l, "");
			return "[JIT]";
		}
		if (!*m->name || (k && m->is_runtime))
			continue;
		found = m->name;
		*is_own = m->is_own;
		if (!m->is_runtime)
			break;
	}
	return found;
}

/* Code that is made while the program runs. */

bool ct_own_jit_is_path(const char *path)
{
	return ct_starts(path, "//anon") || ct_starts(path, "[anon") ||
	       ct_starts(path, "/memfd:") || ct_starts(path, "/tmp/perf-") ||
	       ct_starts(path, "[heap]");
}

bool ct_own_jit_is(const struct ct_profile *p, const struct ct_location *l, const char *name)
{
	if (l->mapping != CT_NONE)
		return ct_own_jit_is_path(ct_text(p, p->mappings[l->mapping].file));
	/* "[truncated]" and "[kernel]" aren't code of the program. */
	return p->mapping_count && l->address && (*name != '[' || !strcmp(name, "[unknown]"));
}

bool ct_own_jit_is_bare(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && ct_starts(plus, "+0x") && plus[3] &&
	       !plus[3 + strspn(plus + 3, "0123456789abcdef")];
}

bool ct_own_jit_is_place(const char *name)
{
	static const char *const begins[] = { "//anon", "[anon", "memfd:", "[heap]" };

	if (!ct_own_jit_is_bare(name))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ct_starts(name, begins[i]))
			return true;
	return false;
}

const char *ct_own_jit_advice(const struct ct_profile *p)
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
