/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/attach/, by the file that implements them: how the library gets
 * into a process that runs without it. docs/attach.md says what can go wrong at each step.
 *
 *     proc.c     what /proc says of a process and its threads
 *     refuse.c   is it allowed, and can it work? Nothing is touched
 *     seccomp.c  would the process's filters of system calls let the library live?
 *     space.c    the process's mappings and modules, read while it runs
 *     attach.c   writes our code where the process has no code
 *     hunt.c     threads that may be at a safe place, seen while they run
 *     seize.c    stops one thread, and if it is at a safe place, lets it go on in our code
 *     unwind.c   the stack of the stopped thread
 *     code.c     our code: the thread calls pthread_create and goes on as before; the new thread
 *                calls dlopen
 */
#ifndef CP_ATTACH_ROOM_H
#define CP_ATTACH_ROOM_H

#include <linux/filter.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>

#include "core/core.h"

/* Newer than glibc 2.31. */
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* What the other folders call. The files of this folder are built for x86_64 only. */

#ifdef __x86_64__
/* Loads LIBRARY, a path, into process PID, which then answers at its control socket. Returns NULL,
 * or the reason why not and what would help, which the caller frees. *SECONDS gets the
 * longest time for which a thread of the process was stopped. */
char *ct_attach(int pid, const char *library, double *seconds);
/* Gives signal masks with bits FROM (CT_SEIZE_BLOCKED ...) the bits TO, in all threads of the
 * process that can be stopped for it without their noticing. */
void ct_seize_masks(int pid, uint64_t from, uint64_t to);
#else
static inline char *ct_attach(int pid, const char *library, double *seconds)
{
	(void)library;
	*seconds = 0;
	return ct_memory_printf("process %d: attach is for x86_64 only", pid);
}
static inline void ct_seize_masks(int pid, uint64_t from, uint64_t to)
{
	(void)pid, (void)from, (void)to;
}
#endif

/* proc.c */

/* Reads file NAME of thread TID of PID into TO, as text of SIZE - 1 bytes at most. Returns TO. */
char *ct_proc_read(int pid, int tid, const char *name, char *to, size_t size);
/* Returns the value of KEY in the thread's status, to be freed; NULL: there is none. */
char *ct_proc_status(int pid, int tid, const char *key);
/* Returns the number that follows KEY in the status file of thread TID, or -1 if there is none. It
 * is read as decimal (BASE 10) or hexadecimal (16). */
long ct_proc_number(int tid, const char *key, int base);
/* Returns a copy of descriptor FD of PID, or -1. */
int ct_proc_descriptor(int pid, int fd);
/* Lists the threads of PID in *TIDS, which has ROOM. Returns their number. */
unsigned ct_proc_threads(int pid, int **tids, size_t *room);

/* refuse.c */

struct ct_space;

/* Returns why the library can't be loaded into PID and what would help, to be freed; NULL: it can.
 * Looks only at /proc. */
char *ct_refuse(int pid);
/* The same after the error ERR of the kernel's. */
char *ct_refuse_access(int pid, int err);
/* The same, by the process's memory and modules. */
char *ct_refuse_space(struct ct_space *s, const char *library);

/* seccomp.c */

/* What a filter does for a call: the larger, the worse. */
enum ct_seccomp_verdict {
	CT_SECCOMP_ALLOWED,
	CT_SECCOMP_ABSENT, /* ENOSYS */
	CT_SECCOMP_FAILS,  /* another error, or nothing */
	CT_SECCOMP_KILLS,  /* or sends a signal, or stops the thread until somebody answers */
	CT_SECCOMP_UNJUDGED,
};

struct ct_seccomp_call {
	const char *name;
	int number;
	enum ct_seccomp_verdict bears; /* the worst verdict with which the library lives */
	unsigned known;		       /* a bit for each argument that is known */
	uint64_t args[6];
};

/* The filters of a thread, in one piece: each after an instruction whose K is its length. */
struct ct_seccomp {
	struct sock_filter *code;
	size_t count, room;
};

/* Returns the worst that the filter of COUNT instructions may do for CALL. */
enum ct_seccomp_verdict ct_seccomp_run(const struct sock_filter *code, size_t count,
				       const struct ct_seccomp_call *call);
/* Reads the filters of the stopped thread TID. Returns 0 or a negative errno. */
int ct_seccomp_read(struct ct_seccomp *to, int tid);
bool ct_seccomp_same(const struct ct_seccomp *a, const struct ct_seccomp *b);
/* Returns why the library can't live with FILTERS, to be freed; NULL: it can. REALTIME: a real-time
 * thread makes its first thread. */
char *ct_seccomp_judge(int pid, const struct ct_seccomp *filters, bool realtime);
/* May a thread call restart_syscall, as it does after a stop in some waits? */
bool ct_seccomp_restarts(const struct ct_seccomp *filters);
bool ct_seccomp_filtered(int pid);
/* Returns why PID's filters can't be judged, as ct_refuse; NULL: they can, or it has none. */
char *ct_seccomp_refuse(int pid);
/* The same, when the kernel hasn't let us read them. */
char *ct_seccomp_unread(int pid);

/* space.c */

enum ct_space_kind {
	CT_SPACE_PROGRAM,
	CT_SPACE_LIBC,	    /* libc.so.6 and its own libraries */
	CT_SPACE_LOADER,    /* ld.so, the vDSO */
	CT_SPACE_ALLOCATOR, /* another library that defines malloc */
};

struct ct_space_map {
	uint64_t start, end, offset, inode;
	char prot[5];
	unsigned module; /* index in MODULES, or CT_SPACE_NONE */
	bool grows;	 /* the main thread's stack: the kernel enlarges it when it is used */
};

#define CT_SPACE_NONE (~0u)

struct ct_space_module {
	char *name;
	uint64_t base, bias; /* of the first mapping, 0: it was unloaded; address less p_vaddr */
	uint64_t inode;
	enum ct_space_kind kind;
	uint64_t eh_frame_hdr, dynamic;
	uint64_t symbols, strings, string_size, gnu_hash; /* addresses; 0: it has none */
	uint64_t text_end, data_end; /* first bytes after its code and its .bss; 0: unknown */
};

struct ct_space {
	int pid, memory; /* /proc/PID/mem */
	struct ct_space_map *maps;
	size_t map_count, map_room;
	struct ct_space_module *modules;
	size_t module_count, module_room;
	unsigned libc, program;	      /* modules; CT_SPACE_NONE */
	bool program_allocates;	      /* the program itself defines malloc */
	bool several;		      /* more than one libc */
	bool sanitized, musl, narrow; /* NARROW: another word size or architecture */
	bool emulated;		      /* by valgrind */
	uint64_t libcprof;  /* address of libcprof_attach, if the library is there; or 0 */
	struct page *pages; /* what was read of memory that doesn't change */
	size_t page_count;
	/* A thread is stopped: a page that wasn't read before is not read now, because that may
	 * wait long for other threads that change the mappings. WANTED: the address of such a page.
	 */
	bool held;
	uint64_t wanted;
	bool late; /* ct_space_read_soon has given up */
	struct ct_space_reader *reader;
};

/* Reads the mappings and modules of PID. Returns 0 or a negative errno. */
int ct_space_open(struct ct_space *s, int pid);
/* Reads the mappings again. */
int ct_space_renew(struct ct_space *s);
void ct_space_close(struct ct_space *s);
/* Copies N bytes of the process at AT. Returns whether they are all there: after an exec, nothing
 * is, because MEMORY stays that of the program before. */
bool ct_space_read(const struct ct_space *s, uint64_t at, void *to, size_t n);
/* The same while a thread is stopped: gives up if it takes long, and says so in LATE. A write may
 * still happen then. */
bool ct_space_read_soon(struct ct_space *s, uint64_t at, void *to, size_t n);
bool ct_space_write_soon(struct ct_space *s, uint64_t at, const void *from, size_t n);
/* Waits for the end of what was given up: before a thread is stopped. */
void ct_space_settle(struct ct_space *s);
/* The same for memory that doesn't change: each page is read once. */
bool ct_space_read_fixed(struct ct_space *s, uint64_t at, void *to, size_t n);
/* The same for writing, also where the process itself may not write. */
bool ct_space_write(const struct ct_space *s, uint64_t at, const void *from, size_t n);
const struct ct_space_map *ct_space_map_at(const struct ct_space *s, uint64_t at);
/* Returns the module whose code is at AT; NULL: there is none. */
const struct ct_space_module *ct_space_code_at(const struct ct_space *s, uint64_t at);
/* Returns the address of NAME in M, a symbol or a version of its symbols; 0: M doesn't define it.
 */
uint64_t ct_space_symbol(struct ct_space *s, const struct ct_space_module *m, const char *name);
/* The same for definition WHICH: a name may have several, of different versions. *SIZE gets its
 * bytes. */
uint64_t ct_space_definition(struct ct_space *s, const struct ct_space_module *m, const char *name,
			     unsigned which, uint64_t *size);

/* unwind.c */

#define CT_UNWIND_DEPTH 256

/* A stack: the innermost frame first. */
struct ct_unwind {
	uint64_t pc[CT_UNWIND_DEPTH], begin[CT_UNWIND_DEPTH]; /* BEGIN: of the function */
	enum ct_space_kind kind[CT_UNWIND_DEPTH];
	unsigned count;
	const char *lost; /* a module without a table for its frame; NULL: none */
};

/* Follows the stack of a stopped thread by its unwind tables to the thread's start. Returns false
 * if a frame isn't known for sure, or is that of a signal handler. */
bool ct_unwind(struct ct_space *s, const struct user_regs_struct *regs, struct ct_unwind *to);

/* code.c */

/* The process's copy follows our code. The assembler code has these numbers, too. */
struct ct_code_plan {
	uint64_t pthread_create, attr_init, attr_setdetachstate, attr_setstacksize, errno_location;
	uint64_t dlopen, dlsym, dlerror;
	uint64_t attach;		       /* libcprof_attach; 0: dlopen finds it */
	uint64_t words;			       /* address of struct ct_code_words */
	uint64_t extended_mask, extended_size; /* of XSAVE's area */
	char path[]; /* "": the new thread makes a memfd, and waits for the file */
};

enum ct_code_stage {
	CT_CODE_NONE,
	CT_CODE_WANTS_FILE,
	CT_CODE_LOADING,
	CT_CODE_ATTACHING,
	CT_CODE_ATTACHED, /* RESULT says how; the new thread waits a little until that is read */
	CT_CODE_FAILED,	  /* TEXT has dlerror's text */
	CT_CODE_GIVEN_UP,
};

enum { CT_CODE_LEFT = 1, CT_CODE_LENT };
enum { CT_CODE_GO = 1, CT_CODE_READ = 2, CT_CODE_CANCEL = 3 };

/* What the threads tell us, in a part of libc's data page that nobody uses. */
struct ct_code_words {
	uint32_t seized, helper; /* thread ids */
	uint32_t left;		 /* whether the seized thread has gone on: CT_CODE_LEFT ... */
	int32_t error;		 /* pthread_create's */
	uint32_t stage;		 /* enum ct_code_stage, of the helper */
	uint32_t answer;	 /* ours to the helper: CT_CODE_GO ... */
	int32_t result, fd;
	uint64_t request, text; /* addresses */
	struct ct_code_lent {
		uint64_t rip, mask, call; /* how the seized thread goes on; CALL: ct_code_call */
	} lent;
};

/* How an interrupted system call goes on. */
enum ct_code_call {
	CT_CODE_PLAIN,	   /* no call was interrupted */
	CT_CODE_RESTARTS,  /* unless a handler without SA_RESTART ran */
	CT_CODE_UNHANDLED, /* unless a handler ran */
	CT_CODE_CONTINUES, /* by restart_syscall, unless a handler ran */
};

/* Made by our code on the seized thread's stack, below all that it uses. The first members are the
 * kernel's struct ucontext, as rt_sigreturn reads it. */
struct ct_code_frame {
	uint64_t flags, link, stack[3];
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
		eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t mask;
	uint64_t thread, attributes[8], pending, action[4];
	uint64_t call;
	_Alignas(64) unsigned char extended[];
};

extern const unsigned char ct_code_begin[], ct_code_end[];
/* Offsets of the first instruction in ct_code_begin. */
extern const uint32_t ct_code_entry;

/* seize.c */

struct ct_seized {
	int tid;
	uint64_t mask; /* of its signals */
	double held;   /* seconds, the longest of all stops */
};

/* Makes a thread of the process call pthread_create by the code at CODE with PLAN, when one is at a
 * safe place. Returns NULL or the reason, as ct_attach. */
char *ct_seize(struct ct_space *s, uint64_t code, uint64_t plan, uint64_t words,
	       struct ct_seized *seized);
/* Lets the signals through that the seized thread, which has been in our code for long, had not
 * blocked before. */
void ct_seize_unblock(const struct ct_seized *seized);
/* Says on a terminal WHAT takes long: for SECONDS, of LIMIT. Nothing in the first second. */
void ct_seize_progress(const char *what, double seconds, int limit);

/* The bits of SIGPROF and the marker in the masks of a thread that blocked all signals before the
 * library came: as the thread set them, and while it is sampled (lib/host/signal/host_signal.h). */
#define CT_SEIZE_BLOCKED (CT_SEIZE_PROF | CT_SEIZE_MARKER)
#define CT_SEIZE_SAMPLED CT_SEIZE_MARKER
#define CT_SEIZE_PROF (UINT64_C(1) << (SIGPROF - 1))
#define CT_SEIZE_MARKER (UINT64_C(1) << (SIGSTKFLT - 1))

/* hunt.c */

struct ct_hunt_function {
	uint64_t begin;
	bool stdio; /* it may wait in read only, where it holds the file's lock */
};

struct ct_hunt {
	struct ct_space *s;
	uint64_t code, plan, words; /* PLAN follows CODE */
	struct ct_hunt_function *allowed;
	size_t allowed_count, allowed_room;
	uint64_t start_main; /* __libc_start_main */
	uint64_t caught;     /* signals that have a handler */
	unsigned threads, round;
	bool again;	/* the thread should be stopped once more */
	bool filtered;	/* it has seccomp filters */
	bool judged;	/* FILTERS are harmless */
	bool stale;	/* a thread was in an epoll_wait with a time limit for longer */
	bool cramped;	/* a thread had too little stack left */
	bool elsewhere; /* a thread's stack wasn't libc's or the kernel's, and it was not safe */
	uint64_t main_stack; /* bytes to which the main thread's may grow; 0: not at all */
	struct ct_seccomp filters;
	const char *lost; /* as in struct ct_unwind, of the last stack that was lost */
	char *refused;	  /* why they aren't */
	/* Threads that were looked at. */
	struct ct_hunt_seen {
		int tid;
		uint64_t where; /* a hash of the wait that wasn't safe; 0: none */
		double failed;	/* when */
		uint64_t ran;	/* CPU time when the thread was last looked at; 0: it wasn't */
		long switches;	/* the same, in an epoll_wait */
		double at;
	} * seen;
	size_t seen_count, seen_room;
	struct ct_seized result;
};

/* A system call that the kernel begins again after a stop, so that the program doesn't see it. */
struct ct_hunt_wait {
	int number;
	bool socket; /* with SO_RCVTIMEO it can't be begun again */
	bool io;     /* no allocator waits in it */
	bool eintr;  /* the kernel doesn't begin it again: we do */
	bool timed;  /* it is continued by restart_syscall */
};

/* Returns NULL if NUMBER is none of them. */
const struct ct_hunt_wait *ct_hunt_wait(long number);
/* Notes the functions of libc that may be waited in. */
void ct_hunt_note_functions(struct ct_hunt *h);
/* Is BEGIN one of them, and does it hold nothing in wait W? */
bool ct_hunt_allows(const struct ct_hunt *h, uint64_t begin, const struct ct_hunt_wait *w);
/* Returns what is known of thread TID, new or not. */
struct ct_hunt_seen *ct_hunt_seen(struct ct_hunt *h, int tid);
bool ct_hunt_is_parent(const struct ct_hunt *h, int tid);
/* Looks at thread T while it runs: may it be at a safe place? *WHERE gets a hash of its wait. */
bool ct_hunt_may_be_safe(struct ct_hunt *h, struct ct_hunt_seen *t, uint64_t *where);

#endif
