/* SPDX-License-Identifier: BSD-3-Clause */
/* libcprof: an in-process profiler for native Linux programs.
 *
 * Most programs need nothing of this header: LD_PRELOAD=libcprof.so CPUPROFILE=out.pb ./app. A
 * program that links with -lcprof can itself decide what is profiled and when.
 *
 * Unless a function says otherwise, it returns 0 or a negative errno value, may be called by any
 * thread at any time, and is not async-signal-safe. No function aborts the program. No function
 * prints anything, except for one line on stderr if the file at exit can't be written.
 *
 * The profile is a gzipped pprof file with the sample types samples/count and cpu/nanoseconds; `go
 * tool pprof FILE` reads it.
 */
#ifndef CPROF_H
#define CPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CPROF_VERSION "0.1.0"

/* Turns off a feature that is on by default: checkpoints, the dump signal. */
#define CPROF_OFF (-1)

/* What to profile. A field that is 0 has its default, so set only the fields that you need:
 *
 *     struct cprof_options o = CPROF_OPTIONS_INIT;
 *     o.cpu_path = "out.pb";
 *     int err = cprof_start(&o);
 *
 * The first field lets the struct grow: a program built against an older header continues to work
 * with a newer library. */
struct cprof_options {
	size_t size; /* sizeof(struct cprof_options) */
	/* Files of the CPU, wall-clock, heap and lock profile (io_path and event_path are below); a
	 * mode is on if its path is set.
	 * Templates: %p pid, %e program, %t time, %h host, %n dump number, %% a percent sign. */
	const char *cpu_path, *wall_path, *heap_path, *lock_path;
	unsigned frequency; /* samples per second of CPU time of each thread, 1-10000; default 99 */
	unsigned max_depth; /* frames kept of each stack, 1-4096; default 512 */
	const char *unwind; /* "auto" (default), "dwarf", "fp", "libunwind" */
	const char *symbolize;	     /* "names" (default): names in the file; "none" */
	long long checkpoint_ms;     /* between rewrites of the file; default 60000; CPROF_OFF */
	int dump_signal;	     /* signal number; default SIGUSR2; CPROF_OFF: none */
	const char *labels;	     /* "k=v,..." on every sample */
	unsigned wall_frequency;     /* samples per second of each thread, 1-1000; default 50 */
	long long lock_threshold_ns; /* shorter waits have no stack; default 1000; CPROF_OFF */
	unsigned long long heap_interval; /* mean bytes between samples, up to 1 GiB; 1: every
					     allocation; default 512 KiB. If an earlier run had
					     another interval, the first sample of each thread but
					     the caller is still the one drawn in that run */
	int heap_mmap;			  /* 1: also record the program's own mappings; default 0 */
	unsigned long long reserved;	  /* not read */
	const char *io_path;		  /* file of the I/O profile, as the paths above */
	const char *event_path;		  /* file of the event profile, as the paths above */
	const char *event;		  /* "page-faults" (default), or another name of perf's */
	unsigned event_period;		  /* events between samples; default: the event's own */
	const char *times; /* memory of each mode's time index, "64K" to "1G"; default "8M"; a
			      duration, as "60s": only the last so many seconds; "off" */
};

/* Kinds of profile, for cprof_stop_mode, cprof_dump_mode and cprof_get_mode_stats. The numbers are
 * part of the ABI and never change. 0 to 15 are modes. Numbers from 16 on are companions: a
 * companion is a further view of the mode that its name begins with, and is on or off together with
 * that mode. */
enum cprof_mode {
	CPROF_CPU = 0,
	CPROF_WALL = 1,
	CPROF_HEAP = 2,
	CPROF_LOCK = 3,
	CPROF_IO = 4,
	CPROF_EVENT = 5,

	CPROF_HEAP_PEAK = 16,
	CPROF_HEAP_MMAP = 17,
	CPROF_LOCK_HOLDERS = 18,
	CPROF_LOCK_WAKERS = 19,
	CPROF_HEAP_LIFETIMES = 20,
	CPROF_HEAP_FRAGMENTATION = 21,
	CPROF_IO_WAKERS = 22
};

#define CPROF_OPTIONS_INIT                                                                         \
	{                                                                                          \
		sizeof(struct cprof_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
			0, 0, 0, 0                                                                 \
	}

/* Start profiling every thread of the process, including threads made later, in each mode whose
 * path is set. The files are written at cprof_stop and whenever the process ends. OPTIONS is
 * copied; NULL: the settings of the environment (CPUPROFILE and the other variables). If other
 * modes are already on, the new modes are added; the options that belong to no mode (max_depth,
 * unwind, symbolize, checkpoint_ms, dump_signal, labels) keep the values of the first start.
 * Returns 0 or an error:
 *
 * -EALREADY: one of the modes is already on; -EBUSY: another thread is in a start or stop; -EINVAL:
 * an option is out of range, OPTIONS->size is wrong, or no path is set; -EOPNOTSUPP: the program
 * runs under valgrind; -EISDIR, -ENOENT, -EACCES and others: the path can't be written to. */
int cprof_start(const struct cprof_options *options);

/* Stop every mode, and write the profiles to their paths. Afterwards cprof_start may be called
 * again. Returns 0, -ESRCH if no mode is on, -EBUSY if another thread is in a start or stop, or the
 * error of writing a file. */
int cprof_stop(void);

/* Stop one of CPROF_CPU, CPROF_WALL, CPROF_HEAP, CPROF_LOCK, CPROF_IO and CPROF_EVENT, with its
 * companions; other modes go on. Returns as cprof_stop; -ESRCH: this mode isn't on; -EINVAL: there
 * is no such mode. */
int cprof_stop_mode(int mode);

/* Write all samples since the start to PATH, as a whole (by rename): those of the first mode that
 * is on, in the order CPU, wall, heap, lock, I/O, event. PATH NULL: write those of every mode, each
 * to the next numbered file beside the profile's own path (NAME.0001.EXT). Profiling goes on.
 * Returns 0, -ESRCH if no mode is on, or the file system's error; then the old file is unchanged.
 */
int cprof_dump(const char *path);

/* The same to an open descriptor, at its current position. The descriptor stays open. */
int cprof_dump_fd(int fd);

/* Write only the last SECONDS of every mode, as cprof_dump(NULL) does, for "what happened just
 * now?": rows, sums and the time index are those of that time; memory in use is that of its end.
 * With a flight recorder (CPROF_TIMES=60s), it is never more than the recorder keeps. A mode
 * without a time index is written from its start on; of companions, the holders of locks and the
 * wakers are written. Call from any thread, also from several at once: each call writes files of
 * its own. Takes as long as cprof_dump. Like all dumps not async-signal-safe: a handler may set a
 * flag, or use the signal of CPROF_SIGNAL. Returns as cprof_dump; -EINVAL: SECONDS is not above 0.
 */
int cprof_dump_last(double seconds);

/* Write one mode (enum cprof_mode) to PATH, or to a descriptor. -ESRCH: the mode isn't on. -EINVAL:
 * there is no such mode, or PATH is NULL. */
int cprof_dump_mode(int mode, const char *path);
int cprof_dump_mode_fd(int mode, int fd);

/* Stop sampling the calling thread until it has called resume as often as pause. The samples that
 * it would have had are counted (lost_paused). -ENOMEM; -EINVAL: resume without pause.
 * Async-signal-safe on a thread that has been sampled or paused before. */
int cprof_thread_pause(void);
int cprof_thread_resume(void);

/* Labels say what the calling thread is working on (a route, a tenant, a trace id). Samples of
 * every mode carry them as pprof labels, so `go tool pprof -tagfocus` and `cprof top -tagfocus` can
 * select by them. Setting a label costs tens of nanoseconds, and allocates memory only at a
 * thread's first label. Labels may be set whether or not a profile is being taken, and the
 * profiler's signal handlers may interrupt that at any instant. Not async-signal-safe.
 *
 * A thread has up to 16 labels; a key has up to 63 bytes, a value up to 127. "thread", "tid",
 * "bytes", "lock", "state" and keys that begin with "pprof::" are reserved. Some modes have labels
 * of their own by other names (op, kind, size, wait): a sample may then have both. If
 * CPROF_LABEL_KEYS is set, it lists the keys that may be in a file. Other keys are accepted but not
 * kept, so that the user who runs the program can keep personal data out.
 *
 * Set KEY to VALUE; NULL or "" clears it. Returns 0, or -EINVAL: KEY is missing, reserved or too
 * long; -ENAMETOOLONG: VALUE was cut to 127 bytes; -ENOSPC: 16 other labels are set; -ENOMEM. */
int cprof_label_set(const char *key, const char *value);
/* Clear KEY. Returns 0, -ENOENT (it wasn't set) or -EINVAL. */
int cprof_label_clear(const char *key);
/* Clear all labels of the calling thread. */
void cprof_labels_clear(void);
/* Copy KEY's value to VALUE, which has SIZE bytes. Returns the value's length, -ENOENT, -EINVAL, or
 * -ENOSPC (SIZE is too small).
 */
int cprof_label_get(const char *key, char *value, size_t size);
/* Decide whether threads that the calling thread makes from now on begin with its labels (ON is 1)
 * or without labels (0). Returns 0 or -ENOMEM. */
int cprof_labels_inherit(int on);

/* A label for the rest of a block; afterwards the key has the value that it had before.
 *
 *     void handle(struct request *r)
 *     {
 *             CPROF_LABEL_SCOPE("route", r->route);
 *             ...
 *     }
 */
struct cprof_label_scope {
	const char *key;
	char before[128];
	int had;
};
struct cprof_label_scope cprof_label_scope_begin(const char *key, const char *value);
void cprof_label_scope_end(struct cprof_label_scope *scope);

#define CPROF_CONCAT_(a, b) a##b
#define CPROF_CONCAT(a, b) CPROF_CONCAT_(a, b)
#ifdef __cplusplus
} /* extern "C" */
namespace cprof
{
class label_scope
{
      public:
	label_scope(const char *key, const char *value) : scope(cprof_label_scope_begin(key, value))
	{
	}
	~label_scope()
	{
		cprof_label_scope_end(&scope);
	}

      private:
	cprof_label_scope scope;
	label_scope(const label_scope &);
	label_scope &operator=(const label_scope &);
};
} // namespace cprof
extern "C" {
#define CPROF_LABEL_SCOPE(key, value)                                                              \
	cprof::label_scope CPROF_CONCAT(cprof_scope_, __LINE__)(key, value)
#else
#define CPROF_LABEL_SCOPE(key, value)                                                              \
	struct cprof_label_scope CPROF_CONCAT(cprof_scope_, __LINE__)                              \
		__attribute__((cleanup(cprof_label_scope_end), unused)) =                          \
			cprof_label_scope_begin(key, value)
#endif

/* Spans: pieces of work with a beginning and an end, such as a request. Samples inside a span carry
 * the label span=NAME, and each name gets a histogram of its latencies (p50, p90, p99, p999 within
 * 1 %), which the comments of every profile show. There may be up to 256 names of up to 63 bytes. A
 * begin and an end together cost about two readings of the clock and a label.
 *
 * While a mode is on, each name also gets the CPU time that its spans used and the time that they
 * did not run; while the heap mode is on, the bytes that they allocated. All three are those of the
 * span's own thread, with those of the spans inside it. The CPU time costs two system calls. Of
 * names whose spans take less than 64 us on average only one span in 16 is measured, at random, and
 * stands for 16. Nothing is measured where a seccomp filter was there at the start.
 *
 *     struct cprof_span s = cprof_span_begin("checkout");
 *     ...
 *     cprof_span_end(&s);
 *
 * A span ends on the thread that began it; spans may nest, and a sample has the name of the
 * innermost. NAME must outlive the span. */
struct cprof_span {
	uint64_t start_ns;
	const char *name; /* NULL: ended */
	uint32_t reserved[2];
	struct cprof_label_scope label;
	void *kind, *thread;
	uint64_t cpu_ns, allocated;
	unsigned weight; /* so many spans does this one's CPU time stand for; 0: not measured */
};
struct cprof_span cprof_span_begin(const char *name);
/* Begin a span at the time when its work was due, on cprof_now()'s clock. If a queue or a load
 * generator was late, the wait is part of the latency, as it is for the client (no coordinated
 * omission). */
struct cprof_span cprof_span_begin_at(const char *name, uint64_t start_ns);
/* End the span. Returns its length in ns, or 0 if it had already ended. */
uint64_t cprof_span_end(struct cprof_span *span);
/* Return CLOCK_MONOTONIC in ns. */
uint64_t cprof_now(void);

struct cprof_span_stats {
	size_t size; /* sizeof(struct cprof_span_stats), set by the caller */
	uint64_t count, sum_ns, max_ns;
	uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
	/* Sums over the spans that ended while a mode was on: CPU time, and time of no CPU (waiting
	 * for something, for a processor, or to be begun: cprof_span_begin_at). Estimated for short
	 * spans. */
	uint64_t cpu_ns, wait_ns;
	uint64_t allocated_bytes; /* sum over those that ended while the heap mode was on */
};

/* Fill STATS for all spans called NAME that have ended in this process. -ENOENT: no such span has
 * ended. -EINVAL: STATS is NULL or its size is unknown. */
int cprof_get_span_stats(const char *name, struct cprof_span_stats *stats);

/* Figures since the mode's last start. An expiry is one period of a thread's CPU time. A sample
 * counts for several expiries if the kernel's timer tick is coarser than the period. In other modes
 * "expiries" are the sum of the samples' weights, in the unit of the mode's last sample type. */
struct cprof_stats {
	size_t size;	      /* sizeof(struct cprof_stats), set by the caller */
	uint64_t samples;     /* stacks recorded */
	uint64_t expiries;    /* expiries that these samples count for */
	uint64_t lost_ring;   /* expiries lost: a thread's buffer was full */
	uint64_t lost_memory; /* expiries lost: no memory for a buffer, or the collector's limit */
	uint64_t lost_thread; /* expiries lost: unknown thread */
	uint64_t lost_paused; /* expiries not taken in paused threads */
	uint64_t truncated;   /* stacks cut at max_depth */
	uint64_t incomplete;  /* stacks that don't reach their thread's start */
	uint64_t period;      /* CPU, wall: ns per expiry; heap: mean bytes between samples */
	uint64_t handler_ns;  /* CPU time spent in signal handlers, estimated from one in 16 */
	uint64_t dumps;	      /* files written */
	uint64_t dump_failures; /* files that could not be written */
};

/* Fill STATS for the CPU mode; all fields are 0 if it was never started. -EINVAL: STATS is NULL or
 * its size is unknown. */
int cprof_get_stats(struct cprof_stats *stats);
/* The same for any mode (enum cprof_mode). -EINVAL: also if there is no such mode. */
int cprof_get_mode_stats(int mode, struct cprof_stats *stats);

/* Store the calling thread's stack at ADDRESSES: up to MOST return addresses, innermost first,
 * beginning in the caller, as backtrace() of <execinfo.h> does. Neither locks nor allocates, and
 * needs no frame pointers. Returns their number; 0 if ADDRESSES is NULL, MOST isn't positive, or
 * the program has restricted its system calls (seccomp). No mode need be on. The first call
 * prepares the unwinder unless a mode was on before; later ones are async-signal-safe and may be
 * made within an allocator: jemalloc's experimental.hooks.prof_backtrace takes such an unwinder,
 * and is set by itself in a program whose jemalloc profiles itself, unless
 * CPROF_JEMALLOC_BACKTRACE=0. */
int cprof_backtrace(void **addresses, int most);

/* Return the version of the loaded library, such as "0.1.0". Async-signal-safe. */
const char *cprof_version(void);

#ifdef __cplusplus
}
#endif

#endif
