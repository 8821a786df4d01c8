/* libcprof: an in-process profiler for native Linux programs.
 *
 * Usually nothing of this is needed: LD_PRELOAD=libcprof.so CPUPROFILE=out.pb ./app. A program
 * that links with -lcprof can decide itself what is profiled and when.
 *
 * Every function returns 0 or a negative errno value, never prints (but for the one line
 * on stderr when the file at exit can't be written) and never aborts. Unless said
 * otherwise a function may be called by any thread at any time, and is not
 * async-signal-safe.
 *
 * The profile is a gzipped pprof file with the sample types samples/count and
 * cpu/nanoseconds; `go tool pprof FILE` reads it.
 */
#ifndef CPROF_H
#define CPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CPROF_VERSION "0.1.0"

/* Turns off what is on by default: checkpoints, the dump signal. */
#define CPROF_OFF (-1)

/* What to profile. Zero means the default everywhere, so fill only what you need:
 *
 *     struct cprof_options o = CPROF_OPTIONS_INIT;
 *     o.cpu_path = "out.pb";
 *     int err = cprof_start(&o);
 *
 * The first field lets the struct grow: a program built against an older header goes on
 * working with a newer library. */
struct cprof_options {
	size_t size; /* sizeof(struct cprof_options) */
	/* Files of the CPU, wall-clock, heap and lock profile; a mode is on when its path is set.
	 * %p pid, %e program, %t time, %h host, %n dump number, %% */
	const char *cpu_path, *wall_path, *heap_path, *lock_path;
	unsigned frequency;	 /* samples per CPU second of each thread, 1-10000; default 99 */
	unsigned max_depth;	 /* frames kept of a stack, 1-4096; default 512 */
	const char *unwind;	 /* "auto" (default), "dwarf", "fp", "libunwind" */
	const char *symbolize;	 /* "names" (default): names in the file; "none" */
	long long checkpoint_ms; /* the file is rewritten this often; default 60000; CPROF_OFF */
	int dump_signal;	 /* signal number; default SIGUSR2; CPROF_OFF */
	const char *labels;	 /* "k=v,..." on every sample */
	unsigned wall_frequency; /* samples per second of each thread, 1-1000; default 50 */
	unsigned lock_budget;	 /* stacks of waits a second and thread; default 100 */
	long long lock_threshold_ns;	  /* shorter waits have no stack; default 1000; CPROF_OFF */
	unsigned long long heap_interval; /* mean bytes between samples, up to 1 GiB; 1: every
					     allocation; default 512 KiB. After an earlier run with
					     another one, threads other than the caller begin with
					     the sample that they would have taken next in that */
	int heap_mmap;			  /* also the program's own mappings; default no */
	unsigned long long span_slow_ns;  /* spans that last so long are slow; default none is */
};

/* Kinds of profile, for cprof_dump_mode. Those with two words are a further view of the first. */
enum cprof_mode {
	CPROF_CPU,
	CPROF_WALL,
	CPROF_HEAP,
	CPROF_LOCK,
	CPROF_HEAP_PEAK,
	CPROF_HEAP_MMAP,
	CPROF_LOCK_HOLDERS
};

#define CPROF_OPTIONS_INIT                                                                         \
	{                                                                                          \
		sizeof(struct cprof_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0    \
	}

/* Start profiling every thread of the process, those to come included, in each mode whose path is
 * set. The files are written at cprof_stop and at every way the process may end. OPTIONS is
 * copied. Where other modes are on already, these are added; what isn't a mode's own (max_depth,
 * unwind, symbolize, checkpoint_ms, dump_signal, labels) stays as the first start had it. NULL
 * options: what the environment says (CPUPROFILE and the others). -EALREADY: one of the modes is
 * on. -EBUSY: another thread is in start or stop. -EINVAL: an option is out of range or
 * OPTIONS->size is wrong, or no path is given. -EOPNOTSUPP: valgrind runs the program. -EISDIR,
 * -ENOENT, -EACCES, ...: the path can't be written to. */
int cprof_start(const struct cprof_options *options);

/* Stop every mode, and write the profiles to their paths. Afterwards cprof_start may be called
 * again. -ESRCH: nothing runs. -EBUSY as above. Otherwise what writing the file gave. */
int cprof_stop(void);

/* The same for one of CPROF_CPU, CPROF_WALL, CPROF_HEAP and CPROF_LOCK, with its further views;
 * others go on. -ESRCH: it isn't on. -EINVAL: no such mode. */
int cprof_stop_mode(int mode);

/* Write everything since the start to PATH, whole (by rename): of the first mode that is on, in the
 * order CPU, wall, heap, lock. NULL: of every mode, to the next numbered file beside the
 * profile's own path (NAME.0001.EXT). Profiling goes on.
 * -ESRCH: nothing runs; else what the file system gave: the old file then still stands. */
int cprof_dump(const char *path);

/* The same to an open descriptor, at its current position. It stays open. */
int cprof_dump_fd(int fd);

/* One mode (enum cprof_mode) to PATH, or to a descriptor. -ESRCH: it isn't on. -EINVAL: no such
 * mode, or no path. */
int cprof_dump_mode(int mode, const char *path);
int cprof_dump_mode_fd(int mode, int fd);

/* The calling thread is not sampled until it calls resume as often as pause. What its CPU time
 * would have been worth is counted (lost_paused). -ENOMEM, -EINVAL (resume without pause).
 * Async-signal-safe on a thread that has been sampled or paused before. */
int cprof_thread_pause(void);
int cprof_thread_resume(void);

/* Labels of the calling thread: what it is working on (a route, a tenant, a trace id). Samples of
 * every mode carry them as pprof labels, so `go tool pprof -tagfocus` and `cprof top -tagfocus` can
 * ask for one. Setting one costs tens of nanoseconds and allocates nothing after a thread's first;
 * it may be done whether or not a profile is being taken, and is safe against our signal handlers
 * at any instant. Not async-signal-safe.
 *
 * A thread has up to 16 labels; a key up to 63 bytes, a value up to 127. "thread", "tid", "bytes",
 * "lock", "state" and keys that begin with "pprof::" are taken. CPROF_LABEL_KEYS, when set, is the
 * list of keys that may be in a file: others are accepted, and not kept, so that personal data
 * can be kept out by whoever runs the program.
 *
 * Set KEY to VALUE; NULL or "": clear it. 0. -EINVAL: no key, or one that is taken, or one too
 * long. -ENAMETOOLONG: VALUE is kept cut at 127 bytes. -ENOSPC: 16 others are set. -ENOMEM. */
int cprof_label_set(const char *key, const char *value);
/* 0, -ENOENT (it wasn't set), -EINVAL. */
int cprof_label_clear(const char *key);
/* All of them. */
void cprof_labels_clear(void);
/* KEY's value into VALUE, of SIZE bytes: its length, -ENOENT, -EINVAL, -ENOSPC (SIZE is too small).
 */
int cprof_label_get(const char *key, char *value, size_t size);
/* Threads that the calling one makes from now on begin with its labels (ON), or without. 0,
 * -ENOMEM. */
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

/* Spans: pieces of work with a beginning and an end, such as a request. Samples inside carry the
 * label span=NAME, and each name gets a histogram of its latencies (p50, p90, p99, p999 within 1
 * %), which is in every profile's comments. Up to 256 names of up to 63 bytes. A begin and an end
 * together cost about two readings of the clock and a label.
 *
 *     struct cprof_span s = cprof_span_begin("checkout");
 *     ...
 *     cprof_span_end(&s);
 *
 * With CPROF_SPAN_SLOW (or span_slow_ns) set, a wall-clock profile tells the samples of spans that
 * lasted so long: labels slow=1 and span_ms (a number). `cprof flame -tagfocus=slow:1` shows what
 * slow requests did.
 *
 * A span ends on the thread that began it; spans may nest, and a sample has the name of the
 * innermost. NAME must outlive the span. */
struct cprof_span {
	uint64_t start_ns;
	const char *name; /* NULL: ended */
	uint32_t serial, outer;
	struct cprof_label_scope label;
};
struct cprof_span cprof_span_begin(const char *name);
/* With the time at which the work was due, on cprof_now()'s clock: where a queue or a load
 * generator was late, the wait counts, as it does for who waits (no coordinated omission). */
struct cprof_span cprof_span_begin_at(const char *name, uint64_t start_ns);
/* How long it lasted, in ns. 0 when it has ended before. */
uint64_t cprof_span_end(struct cprof_span *span);
/* CLOCK_MONOTONIC in ns. */
uint64_t cprof_now(void);

struct cprof_span_stats {
	size_t size; /* sizeof(struct cprof_span_stats), set by the caller */
	uint64_t count, sum_ns, max_ns;
	uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
};

/* Of all spans called NAME that have ended in this process. -ENOENT: none has. -EINVAL: STATS is
 * NULL or its size is unknown. */
int cprof_get_span_stats(const char *name, struct cprof_span_stats *stats);

/* Since the mode's last start. An expiry is one period of a thread's CPU time; a sample may
 * stand for several, where the kernel's timer tick is coarser than the period. In other modes
 * "expiries" are what samples stand for in the unit of the mode's last sample type. */
struct cprof_stats {
	size_t size;	      /* sizeof(struct cprof_stats), set by the caller */
	uint64_t samples;     /* stacks recorded */
	uint64_t expiries;    /* that they stand for */
	uint64_t lost_ring;   /* expiries lost: a thread's buffer was full */
	uint64_t lost_memory; /* expiries lost: no memory for a buffer, or the collector's limit */
	uint64_t lost_thread; /* expiries lost: unknown thread */
	uint64_t lost_paused; /* expiries not taken in paused threads */
	uint64_t truncated;   /* stacks cut at max_depth */
	uint64_t incomplete;  /* stacks that don't reach their thread's start */
	uint64_t period; /* CPU, wall: ns that one stands for; heap: mean bytes between samples */
	uint64_t handler_ns;	/* CPU time spent in signal handlers, estimated from one in 16 */
	uint64_t dumps;		/* files written */
	uint64_t dump_failures; /* files that could not be written */
};

/* Of the CPU mode. -EINVAL: STATS is NULL or its size is unknown. All zero when nothing ran yet. */
int cprof_get_stats(struct cprof_stats *stats);
/* Of any (enum cprof_mode). -EINVAL also: no such mode. */
int cprof_get_mode_stats(int mode, struct cprof_stats *stats);

/* "0.1.0", of the library that is loaded. Async-signal-safe. */
const char *cprof_version(void);

#ifdef __cplusplus
}
#endif

#endif
