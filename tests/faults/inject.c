/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the system calls of libcprof fail, those of the profiled program never.
 *
 *	inject --library FILE [--report FILE] [--call NAME --at N [--beyond] [--how HOW]] --
 *command...
 *
 * traces the command and all its descendants (ptrace), and counts the calls that the library makes,
 *or that libc makes for it. The Nth call NAME fails: HOW is an errno's name (EIO if not given),
 *`short` (half of the bytes), or `late:ERRNO` (the call is made, and its failure reported).
 *--beyond: all later ones fail, too. Without --call nothing fails, and the report has a line for
 *each call:
 *
 *	call NAME N PLACE
 *
 * With it: `failed NAME N PLACE` for each that failed, and `seen COUNT`. --all counts every call of
 *the command, for programs that don't have the library loaded. --limit SECONDS: then everything is
 *killed, `hung` is reported, with where each thread is. The exit status is the command's, 128 + N
 *for signal N. Used by walk.sh.
 */
#include "inject.h"

#include <getopt.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "system.h"

#ifdef __x86_64__

#define TRACEES_MAX 512
/* The library's own threads have small stacks, a program's 8 MB. */
#define OWN_STACK_MAX ((uint64_t)1 << 20)

struct tracee {
	pid_t tid;
	struct place_map map;
	long result; /* to be put in place of the call's; 0: none */
};

static struct {
	const char *library, *report, *call, *how;
	long at;
	int beyond, all, limit;
} given;

static struct tracee tracees[TRACEES_MAX];
static size_t tracee_count;
static unsigned long counts[NAMES_CALLS_MAX];
static unsigned long seen;
static long error = EIO;
static bool make_short, late;
static FILE *report;

static const char *name_error(void)
{
	const char *name = given.how ? given.how : "EIO";

	if (!strcmp(name, "short")) {
		make_short = true;
		return NULL;
	}
	late = name[0] == 'l' && strchr(name, ':');
	name += late ? 5 : 0;
	error = names_error(name);
	return error ? NULL : name;
}

static struct tracee *find(pid_t tid)
{
	for (size_t i = 0; i < tracee_count; i++)
		if (tracees[i].tid == tid)
			return &tracees[i];
	if (tracee_count == TRACEES_MAX) {
		fprintf(stderr, "inject: too many threads\n");
		exit(125);
	}
	memset(&tracees[tracee_count], 0, sizeof(*tracees));
	tracees[tracee_count].tid = tid;
	return &tracees[tracee_count++];
}

static void forget(pid_t tid)
{
	for (size_t i = 0; i < tracee_count; i++)
		if (tracees[i].tid == tid) {
			tracees[i] = tracees[--tracee_count];
			return;
		}
}

static void print_place(const struct place *p)
{
	for (unsigned i = 0; i < p->count; i++)
		fprintf(report, "%s%s", i ? "<" : p->direct ? " " : " libc<", p->functions[i]);
	fputc('\n', report);
}

/* The library's place in T, looked up until it is there. */
static bool has_library(struct tracee *t)
{
	if (!t->map.end)
		t->map = place_find(t->tid);
	return t->map.end != 0;
}

/* Of the thread to be made; whose it is the stack of its maker doesn't tell for certain. */
static uint64_t stack_of(pid_t tid, const struct __ptrace_syscall_info *s)
{
	struct clone_args args = { 0 };
	struct iovec to = { &args, sizeof(args) };
	struct iovec from = { (void *)(uintptr_t)s->entry.args[0], sizeof(args) }; /* NOLINT */

	return process_vm_readv(tid, &to, 1, &from, 1, 0) > 0 ? args.stack_size : 0;
}

static bool is_counted(struct tracee *t, const struct __ptrace_syscall_info *s, struct place *p)
{
	if (given.all)
		return true;
	if (!has_library(t))
		return false;
	if (s->entry.nr == SYS_clone3 && stack_of(t->tid, s) > OWN_STACK_MAX)
		return false;
	*p = place_of(t->tid, &t->map, s->instruction_pointer, s->stack_pointer);
	/* A wake never fails; and a lock's own wait is made by libc for the program. */
	if (s->entry.nr == SYS_futex)
		return p->direct && (s->entry.args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
	/* libc's own writes are never the library's, whatever an earlier call has left on its
	 * stack. */
	if (s->entry.nr == SYS_write && !p->direct)
		return false;
	return place_is_own(p);
}

static void set_register(pid_t tid, size_t offset, long value)
{
	ptrace(PTRACE_POKEUSER, tid, offset, value);
}

static void fail_call(struct tracee *t, const struct __ptrace_syscall_info *s)
{
	if (make_short) {
		if (s->entry.args[2] > 1)
			set_register(t->tid, offsetof(struct user_regs_struct, rdx),
				     (long)(s->entry.args[2] / 2));
		return;
	}
	if (!late)
		set_register(t->tid, offsetof(struct user_regs_struct, orig_rax), -1);
	t->result = -error;
}

/* The message about a fault must not itself fail. */
static bool is_message(const struct __ptrace_syscall_info *s)
{
	return s->entry.nr == SYS_write && s->entry.args[0] == STDERR_FILENO;
}

static void enter(struct tracee *t, const struct __ptrace_syscall_info *s)
{
	size_t i = names_call(s->entry.nr);
	struct place place = { .count = 0 };
	bool wanted;

	if (i == NAMES_CALLS_MAX || (given.call && strcmp(names_of_call(i), given.call)) ||
	    is_message(s))
		return;
	if (!is_counted(t, s, &place))
		return;
	counts[i]++;
	seen++;
	wanted = given.call &&
		 (given.beyond ? (long)counts[i] >= given.at : (long)counts[i] == given.at);
	if (wanted)
		fail_call(t, s);
	if (report && (wanted || !given.call)) {
		fprintf(report, "%s %s %lu", given.call ? "failed" : "call", names_of_call(i),
			counts[i]);
		print_place(&place);
	}
}

static void stop_at_call(struct tracee *t)
{
	struct __ptrace_syscall_info s;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(s), &s) <= 0)
		return;
	if (s.op == PTRACE_SYSCALL_INFO_ENTRY) {
		enter(t, &s);
	} else if (s.op == PTRACE_SYSCALL_INFO_EXIT && t->result) {
		set_register(t->tid, offsetof(struct user_regs_struct, rax), t->result);
		t->result = 0;
	}
}

/* The new process or thread has the library where its maker has; an exec's program anew. */
static void take_event(struct tracee *t, int event)
{
	struct place_map map = t->map;
	unsigned long id;

	if (event == PTRACE_EVENT_EXEC)
		memset(&t->map, 0, sizeof(t->map));
	else if ((event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		  event == PTRACE_EVENT_CLONE) &&
		 !ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &id))
		find((pid_t)id)->map = map;
}

/* Goes on with what T stopped for. */
static void take_stop(struct tracee *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	enum __ptrace_request how = PTRACE_SYSCALL;

	if (sig == (SIGTRAP | 0x80)) {
		stop_at_call(t);
		sig = 0;
	} else if (event == PTRACE_EVENT_STOP) {
		if (sig != SIGTRAP)
			how = PTRACE_LISTEN; /* a stop of the whole process */
		sig = 0;
	} else if (event) {
		take_event(t, event);
		sig = 0;
	}
	ptrace(how, t->tid, 0, (long)sig);
}

static volatile sig_atomic_t expired;

static void on_alarm(int sig)
{
	(void)sig;
	expired = 1;
}

static void report_hang(void)
{
	for (size_t i = 0; report && i < tracee_count; i++) {
		struct tracee *t = &tracees[i];
		char path[64], text[256] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/syscall", (int)t->tid);
		f = fopen(path, "re");
		if (f && !fgets(text, sizeof(text), f))
			text[0] = '\0';
		if (f)
			fclose(f);
		text[strcspn(text, "\n")] = '\0';
		fprintf(report, "hung %d: %s", (int)t->tid, text);
		if (has_library(t)) {
			unsigned long sp = 0, ip = 0;
			const char *last = strrchr(text, ' ');
			struct place p;

			if (last) {
				ip = strtoul(last, NULL, 0);
				while (last > text && last[-1] != ' ')
					last--;
				sp = strtoul(last, NULL, 0);
			}
			p = place_of(t->tid, &t->map, ip, sp);
			print_place(&p);
		} else {
			fputc('\n', report);
		}
	}
}

static int trace(pid_t command)
{
	int status, result = 125;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (expired) {
			report_hang();
			return 124;
		}
		if (tid < 0)
			continue;
		if (WIFSTOPPED(status)) {
			take_stop(find(tid), status);
			continue;
		}
		forget(tid);
		if (tid == command)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

/* The command waits until it is traced. */
static pid_t start(char **argv)
{
	int gate[2];
	pid_t pid;
	char byte;

	if (pipe(gate))
		return -1;
	pid = fork();
	if (!pid) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1)
			_exit(126);
		close(gate[0]);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(gate[0]);
	if (pid > 0 &&
	    ptrace(PTRACE_SEIZE, pid, 0,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) {
		perror("inject: ptrace");
		close(gate[1]);
		return -1;
	}
	/* From here on it stops at calls; the write is what the first of them waits for. */
	if (pid > 0 && (ptrace(PTRACE_INTERRUPT, pid, 0, 0) || write(gate[1], "", 1) != 1))
		return -1;
	close(gate[1]);
	return pid;
}

static int usage(const char *what)
{
	fprintf(stderr, "inject: %s\n", what);
	return 125;
}

static void limit(void)
{
	struct sigaction a = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &a, NULL);
	alarm((unsigned)given.limit);
}

static int read_arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{ "library", required_argument, NULL, 'l' },
		{ "report", required_argument, NULL, 'r' },
		{ "call", required_argument, NULL, 'c' },
		{ "at", required_argument, NULL, 'n' },
		{ "how", required_argument, NULL, 'h' },
		{ "limit", required_argument, NULL, 't' },
		{ "beyond", no_argument, &given.beyond, 1 },
		{ "all", no_argument, &given.all, 1 },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (c) {
		case 'l': given.library = optarg; break;
		case 'r': given.report = optarg; break;
		case 'c': given.call = optarg; break;
		case 'n': given.at = atol(optarg); break;
		case 'h': given.how = optarg; break;
		case 't': given.limit = atoi(optarg); break;
		case 0: break;
		default: return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	pid_t command;
	int result;

	if (read_arguments(argc, argv) || optind == argc || (!given.library && !given.all))
		return usage("wrong arguments");
	if (name_error())
		return usage("unknown errno");
	if (!given.all && place_load(given.library))
		return 125;
	if (given.report && !(report = fopen(given.report, "we")))
		return usage("the report can't be written");
	command = start(argv + optind);
	if (command < 0)
		return usage("the command could not be started");
	if (given.limit)
		limit();
	result = trace(command);
	if (report) {
		fprintf(report, "seen %lu\n", seen);
		fclose(report);
	}
	return result;
}

#else

int main(void)
{
	puts("SKIP: only for x86_64");
	return 77;
}

#endif
