/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the result of a command; see verbs.h. */
#include "verbs/verbs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "core/read.h"
#include "core/times.h"
#include "diff/diff.h"

/* The sample type that is shown for a window of the heap. */
#define ALLOCATED "alloc_space"

/* Most files that are in memory at once, to read their common modules once. */
#define FILES_MAX 64

/* The peak is named if it is so many times what was in use at the end. */
#define PEAK_OVER 2

/* The file that say_files() advises for a tree. */
#define ALL "ALL.pb"

/* The files of one mode of one run. */
struct files {
	struct ct_run_programs programs;
	/* File of the command, then files of its children, and of the programs that any of them was
	 * before an exec. */
	char **process;
	size_t count, room;
	int64_t own, children;	    /* totals of the shown sample type */
	struct ct_profile *profile; /* profile of the command, or NULL */
	char **companions;	    /* NAME.peak.EXT and other companions */
	size_t companion_count, companion_room;
	char *peak; /* one of the companions that has samples, or NULL */
	int64_t peak_total;
};

static bool has_spans; /* the command of the run */

/* The files of all modes, for the flame graph. */
static struct {
	char **paths;
	size_t count, room;
} drawn;

const char *ct_run_show_extension(const char *path)
{
	const char *name = ct_base_name(path);
	const char *dot = strrchr(name, '.');
	size_t n = strlen(name);

	if (n > 6 && !strcmp(name + n - 6, ".pb.gz"))
		return name + n - 6;
	if (n > 9 && !strcmp(name + n - 9, ".pprof.gz"))
		return name + n - 9;
	return dot && dot != name ? dot : name + n;
}

/* Returns where the dump's number or the process's id begins in PATH, of which END is the end:
 * ".0001",
 * ".123.2"; END: there is none. */
static const char *number_before(const char *path, const char *end)
{
	const char *base = ct_base_name(path), *from = end;

	for (const char *s = end; s > base + 1;) {
		while (s > base && s[-1] >= '0' && s[-1] <= '9')
			s--;
		if (s == end || s == from || s == base || *--s != '.')
			break;
		from = s;
	}
	return from;
}

char *ct_run_show_beside(const char *path, const char *companion)
{
	const char *end = path + strlen(path), *pid = number_before(path, end);
	char *core = ct_memory_printf("%.*s", (int)(pid - path), path);
	const char *extension = ct_run_show_extension(core);
	const char *number = number_before(core, extension);
	char *plain, *numbered;

	/* What has no extension but a number: heap.0001. */
	if (pid < end && !*extension)
		number = extension = core + strlen(core);
	plain = ct_memory_printf("%.*s.%s%s%s", (int)(extension - core), core, companion, extension,
				 pid);
	numbered =
		ct_memory_printf("%.*s.%s%s%s", (int)(number - core), core, companion, number, pid);
	free(core);
	if (access(numbered, R_OK)) {
		free(numbered);
		return plain;
	}
	free(plain);
	return numbered;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Notes the files beside PATH that may be the run's by name and time, but are there already. The
 * clock of files' times moves in ticks, so a run that ended a moment ago may have written them at
 * the present time. */
static void note_files(struct ct_run_show_start *s, const char *path)
{
	const char *name = ct_base_name(path);
	char *directory = ct_memory_printf("%.*s", (int)(name - path), path);
	DIR *d = NULL;
	struct dirent *e;
	struct stat st;

	/* Whoever writes a profile changes its directory, too. */
	if (!stat(directory, &st) && !is_before(&st.st_mtim, &s->since))
		d = opendir(directory);
	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, name, strcspn(name, ".")) &&
		    !fstatat(dirfd(d), e->d_name, &st, 0) && !is_before(&st.st_mtim, &s->since))
			/* While it is open, no new file gets its number. */
			*CT_PUSH(s->files, s->count, s->room) =
				openat(dirfd(d), e->d_name, O_PATH | O_CLOEXEC);
	if (d)
		closedir(d);
	free(directory);
}

struct ct_run_show_start ct_run_show_start(const char *path)
{
	struct ct_run_show_start s = { .count = 0 };

	clock_gettime(CLOCK_REALTIME_COARSE, &s.since);
	note_files(&s, path);
	return s;
}

bool ct_run_show_wrote(const struct ct_run_show *how, const char *path)
{
	struct stat st, other;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size ||
	    is_before(&st.st_mtim, &how->start.since))
		return false;
	for (size_t i = 0; i < how->start.count; i++)
		if (!fstat(how->start.files[i], &other) && other.st_ino == st.st_ino)
			return false;
	return true;
}

/* Returns the sample type that is shown, as its index in P. */
static size_t shown_type(const struct ct_run_show *how, const struct ct_profile *p)
{
	size_t i = how->window ? ct_model_type(p, ALLOCATED) : p->type_count;

	return i < p->type_count ? i : ct_model_default_type(p);
}

/* One of the run's files. */
struct file {
	char *path;
	const char *tail; /* the part of PATH after the name that the run's files share */
	int64_t total;	  /* of the sample type that is shown */
	struct ct_profile *profile;
};

/* Adds lines to N files at once, and leaves their profiles in memory. */
static void symbolize(const struct ct_run_show *how, struct file *files, size_t n)
{
	struct ct_profile *profiles[FILES_MAX] = { NULL };
	struct ct_symbolized done[FILES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		struct ct_profile *p = files[i].profile = ct_read_source(files[i].path);

		if (p && p->type_count)
			files[i].total = ct_model_total(p, shown_type(how, p));
		if (p)
			profiles[count++] = p;
	}
	ct_symbolize_profiles(profiles, count, how->roots, done);
	for (size_t i = 0, at = 0; i < n; i++) {
		if (files[i].profile && (done[at].lines || done[at].names))
			ct_write_file(files[i].profile, files[i].path);
		at += files[i].profile != NULL;
	}
}

/* Prints a verb's output, of sample type TYPE ("": the default; NULL: it has no such option), to
 * stderr, because stdout belongs to the command. */
static void call(const struct ct_verb *verb, char *option, const char *type, char *const *paths,
		 size_t count)
{
	char **argv = ct_memory_alloc((count + 4) * sizeof(*argv));
	int saved = dup(STDOUT_FILENO), argc = 0;

	argv[argc++] = ct_memory_strdup(verb->name);
	argv[argc++] = option;
	if (type)
		argv[argc++] = ct_memory_printf("-sample_index=%s", type);
	for (size_t i = 0; i < count; i++)
		argv[argc++] = ct_memory_strdup(paths[i]);
	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	ct_options_run(verb, argc, argv);
	fflush(stdout);
	if (saved >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
	/* Options are read in place, and parsing may reorder them. */
	while (argc > 0)
		free(argv[--argc]);
	free(argv);
}

/* ---- files ---- */

/* Returns the number of the process whose file it is, or 0. TAIL is the text after the name without
 * its extension, such as ".pb.123" or ".pb.123.2". */
static int64_t process_of(const char *tail, const char *ext)
{
	size_t n = strlen(ext);

	return !strncmp(tail, ext, n) && tail[n] == '.' ? ct_siblings_process(tail + n + 1) : 0;
}

/* TAIL is ".peak.pb", for example. */
static bool is_companion(const char *tail, const char *ext)
{
	static const char *const names[] = { ".peak",	       ".mmap",	   ".lifetimes",
					     ".fragmentation", ".holders", ".wakers" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(tail, names[i], strlen(names[i])) &&
		    !strcmp(tail + strlen(names[i]), ext))
			return true;
	return false;
}

static void take_file(struct files *f, const struct file *file, const char *ext)
{
	int64_t id = process_of(file->tail, ext);

	if (id) {
		ct_run_programs_add(&f->programs, id, file->profile, file->path, file->total);
		f->children = ct_add(f->children, file->total);
		*CT_PUSH(f->process, f->count, f->room) = file->path;
		return;
	}
	if (!is_companion(file->tail, ext)) {
		free(file->path);
		return;
	}
	*CT_PUSH(f->companions, f->companion_count, f->companion_room) = file->path;
	if (file->total && !strncmp(file->tail, ".peak", 5)) {
		f->peak = file->path;
		f->peak_total = file->total;
	}
}

static void take_files(const struct ct_run_show *how, struct files *f, struct file *files, size_t n,
		       const char *ext)
{
	symbolize(how, files, n);
	for (size_t i = 0; i < n; i++) {
		take_file(f, &files[i], ext);
		ct_model_free(files[i].profile);
	}
}

/* Finds the other files of the mode that this run wrote. */
static void find_others(const struct ct_run_show *how, struct files *f, const char *path)
{
	const char *name = strrchr(path, '/') + 1, *ext = ct_run_show_extension(path);
	char *directory = ct_memory_printf("%.*s", (int)(name - path), path);
	size_t stem = (size_t)(ext - name), count = 0;
	struct file files[FILES_MAX];
	DIR *d = opendir(directory);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *whole;

		if (strncmp(e->d_name, name, stem) || !strcmp(e->d_name, name) ||
		    e->d_name[stem] != '.' || !strstr(e->d_name + stem, *ext ? ext : "."))
			continue;
		whole = ct_memory_printf("%s%s", directory, e->d_name);
		if (!ct_run_show_wrote(how, whole)) {
			free(whole);
			continue;
		}
		files[count++] = (struct file){ whole, whole + (ext - path), 0, NULL };
		if (count == FILES_MAX) {
			take_files(how, f, files, count, ext);
			count = 0;
		}
	}
	take_files(how, f, files, count, ext);
	if (d)
		closedir(d);
	free(directory);
}

/* What was freed before the end, as by destructors of static objects, is only seen there. */
static void say_peak(const struct files *f)
{
	char number[CT_NUMBER_ROOM], *word;

	if (!f->peak || f->peak_total / PEAK_OVER <= f->own)
		return;
	word = ct_out_word(f->peak);
	fprintf(stderr, "cprof:   %s at the high water: cprof leaks %s\n",
		ct_numbers_format(number, f->peak_total, "bytes", "auto"), word);
	free(word);
}

/* Prints the command that answers the question for which people take such a profile. */
static void say_next(const char *mode, const char *path)
{
	static const char *const answers[][3] = {
		{ "heap", "leaks", "the stacks that hold it" },
		{ "lock", "locks", "each lock, who waits, and who holds it or ends the wait" },
		{ "wall", "waits", "what the threads wait for" },
	};

	char *word = ct_out_word(path);

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (!strcmp(mode, answers[i][0]))
			fprintf(stderr, "cprof:   %s: cprof %s %s\n", answers[i][2], answers[i][1],
				word);
	free(word);
}

static void say_files(const struct files *f, const char *path)
{
	char *word = ct_out_word(path);

	for (size_t i = 0; i < f->companion_count; i++)
		fprintf(stderr, "%s %s%s", i ? "," : "cprof:   and",
			i ? ct_base_name(f->companions[i]) : f->companions[i],
			i + 1 < f->companion_count ? "" : "\n");
	if (f->count == 2)
		fprintf(stderr, "cprof:   and of %s %s\n",
			f->programs.children.count ? "its child" : "the program before its exec",
			f->process[1]);
	else if (f->count > 2) {
		fputs("cprof:   and ", stderr);
		if (f->programs.children.count > 1)
			fprintf(stderr, "%zu of its children", f->programs.children.count);
		else
			fprintf(stderr, "of %s",
				f->programs.children.count ? "its child"
							   : "the programs before its execs");
		fprintf(stderr, ", %s.PID; one file of all: cprof merge -children -o " ALL " %s\n",
			path, word);
	}
	free(word);
}

/* ---- output ---- */

static void remember_file(const char *path)
{
	*CT_PUSH(drawn.paths, drawn.count, drawn.room) = ct_memory_strdup(path);
}

/* Puts the file whose top is shown first, because the page begins with it. */
static void remember_all(const struct files *f)
{
	bool at_peak = !f->own && f->children <= f->own && f->peak;

	if (at_peak)
		remember_file(f->peak);
	for (size_t i = 0; i < (f->children > f->own ? f->count : 1); i++)
		remember_file(f->process[i]);
	for (size_t i = 0; i < f->companion_count; i++)
		if (!at_peak || f->companions[i] != f->peak)
			remember_file(f->companions[i]);
}

char *ct_run_show_page(const char *command)
{
	const char *slash = strrchr(command, '/');

	return ct_memory_printf("%s.html", slash && slash[1] ? slash + 1 : command);
}

/* Runs PROGRAM in a session of its own, so that the terminal's ^C doesn't reach the browser, and
 * without output. An exec that works closes FAILED. */
static void become(const char *const argv[], int failed)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	execvp(argv[0], (char *const *)argv);
	if (write(failed, "", 1) < 0)
		_exit(126);
	_exit(127);
}

/* Did PROGRAM start? Does not wait for its end, because it may be the browser itself. */
static bool start_browser(const char *program, const char *file)
{
	int ends[2];
	char byte;
	pid_t pid;
	bool failed;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0)
		become((const char *const[]){ program, file, NULL }, ends[1]);
	close(ends[1]);
	failed = pid < 0 || read(ends[0], &byte, 1) != 0;
	close(ends[0]);
	if (failed && pid > 0)
		waitpid(pid, NULL, 0);
	return !failed;
}

/* Passes FILE to xdg-open and doesn't wait. If xdg-open can't be started, a message on stderr says
 * so. */
static void browser_open(const char *file)
{
	char *path = realpath(file, NULL);

	if (!path || (!start_browser("xdg-open", path) && !start_browser("open", path)))
		fprintf(stderr,
			"cprof: -open: neither xdg-open nor open is here: open %s yourself\n",
			path ? path : file);
	free(path);
}

void ct_run_show_flame(const struct ct_run_show *how)
{
	if (drawn.count) {
		call(&ct_verb_flame, ct_memory_printf("-o=%s", how->flame), NULL, drawn.paths,
		     drawn.count);
		if (how->open)
			browser_open(how->flame);
	}
	for (size_t i = 0; i < drawn.count; i++)
		free(drawn.paths[i]);
	free(drawn.paths);
}

void ct_run_show_spans(const char *least, char *const *paths, size_t count)
{
	if (least) {
		fputc('\n', stderr);
		call(&ct_verb_spans, ct_memory_printf("-slow=%s", least), NULL, paths, count);
		return;
	}
	if (!has_spans)
		return;
	fputs("cprof: the slowest spans, and why: cprof spans", stderr);
	for (size_t i = 0; i < count; i++) {
		char *word = ct_out_word(paths[i]);

		fprintf(stderr, " %s", word);
		free(word);
	}
	fputc('\n', stderr);
}

static const char *nothing(const struct ct_run_show *how, const char *mode, bool empty)
{
	if (how->window && !strcmp(mode, "heap"))
		return "nothing was allocated in this time, as far as sampled";
	if (how->window && !strcmp(mode, "cpu"))
		return "no samples: the process used too little CPU time; -wall shows where it "
		       "waits";
	if (how->window && !strcmp(mode, "wall"))
		return "no samples: no thread's stack could be seen in this time";
	if (!strcmp(mode, "heap") && empty)
		return "no allocation was sampled";
	if (!strcmp(mode, "heap"))
		return "nothing sampled was in use at the end; -sample_index=alloc_space shows "
		       "what was allocated";
	if (!strcmp(mode, "lock"))
		return "nothing waited for a lock";
	if (!strcmp(mode, "io"))
		return "no input or output by libc's functions";
	if (!strcmp(mode, "event"))
		return "no samples: too few events, or they can't be counted here "
		       "(perf_event_paranoid); -event=page-faults:u can nearly always";
	if (!strcmp(mode, "cpu"))
		return "no samples: the command itself used too little CPU time";
	return "no samples: the command ended too soon";
}

/* Returns the unit of the sample type that is shown. */
static const char *shown_unit(const struct ct_run_show *how, const struct ct_profile *p)
{
	return p && p->type_count ? ct_text(p, p->types[shown_type(how, p)].unit) : "";
}

static void show_top(const struct ct_run_show *how, struct files *f, const char *mode)
{
	char *const *paths = f->process;
	/* The options keep the values of the mode before. */
	const char *type = how->window && !strcmp(mode, "heap") ? ALLOCATED : "";
	size_t count = 1;

	/* The functions of all waits for locks are libc's. */
	ct_verb_top_for_run(how->several || f->children > f->own || !strcmp(mode, "lock"));
	if (f->children > f->own) {
		count = f->count;
		ct_run_programs_show(&f->programs, mode, shown_unit(how, f->profile),
				     ct_add(f->own, f->children));
	} else if (!f->own && f->peak) {
		paths = &f->peak;
		fputs("cprof: nothing sampled was in use at the end; at the high water:\n", stderr);
	}
	if (!f->own && !f->peak && count == 1)
		fprintf(stderr, "cprof: %s: %s\n", mode,
			nothing(how, mode, f->profile && !f->profile->sample_count));
	else if (how->top)
		call(&ct_verb_top, ct_memory_printf("-nodecount=%ld", how->top), type, paths,
		     count);
}

bool ct_run_show(const struct ct_run_show *how, const char *mode, const char *path)
{
	struct file own = { .path = (char *)path };
	struct files f = { 0 };

	ct_siblings_are_known();
	setenv("CPROF_PAGER", "", 1);
	*CT_PUSH(f.process, f.count, f.room) = ct_memory_strdup(path);
	fputc('\n', stderr);
	symbolize(how, &own, 1);
	f.own = own.total;
	f.profile = own.profile;
	for (size_t i = 0; f.profile && i < f.profile->comment_count; i++)
		has_spans |= ct_starts(ct_notes_comment(f.profile, i), "span ");
	f.programs.command = f.profile ? ct_times_join_process(f.profile) : 0;
	ct_run_programs_add(&f.programs, f.programs.command, f.profile, path, f.own);
	find_others(how, &f, path);
	if (how->flame)
		remember_all(&f);
	show_top(how, &f, mode);
	/* The notes that the table's verb hasn't printed. */
	if (f.profile)
		ct_notes_say(f.profile);
	ct_model_free(f.profile);
	fprintf(stderr, "cprof: %s profile: %s\n", mode, path);
	say_files(&f, path);
	if (f.children > f.own && f.programs.count)
		say_next(mode,
			 f.count > 2 && !strcmp(mode, "wall") ? ALL : f.programs.all[0].largest);
	else if (f.own)
		say_next(mode, path);
	if (f.own)
		say_peak(&f);
	for (size_t i = 0; i < f.count; i++)
		free(f.process[i]);
	free(f.process);
	ct_run_programs_free(&f.programs);
	for (size_t i = 0; i < f.companion_count; i++)
		free(f.companions[i]);
	free(f.companions);
	return f.children <= f.own;
}

void ct_run_show_change(const char *mode, const char *before, const char *path)
{
	char *paths[] = { (char *)before, (char *)path };

	if (!ct_run_keep_comparable(before, path)) {
		fprintf(stderr, "cprof: the %s profile of the run before: %s\n", mode, before);
		return;
	}
	/* The table has the chance of sampling, but not that of who comes to a lock first. */
	ct_diff_print_for_run(ct_control_modes[ct_control_modes_find(mode)].waits);
	call(&ct_verb_diff, ct_memory_strdup("-nodecount=3"), NULL, paths, 2);
}
