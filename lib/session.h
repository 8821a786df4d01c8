/* The profiler as a whole: start, stop, write. Its part in the life of the process is process.h. */
#ifndef CP_SESSION_H
#define CP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "cprof.h"
#include "sink.h"

/* Start the modes that C names, beside those that are on, whose settings stay. 0; -EALREADY when
 * one of C's is on; what the paths or the kernel gave. EACH: a mode that can't be is said on
 * stderr, and the others go on; 0 when one did. Else all or none, and nothing is said. Ordinary
 * context. */
int cp_session_start(const struct cp_config *c, bool each);
/* Stop mode MODE, with its companions, and write their files; the last one stops everything. 0;
 * -ESRCH when it isn't on; the write's error. */
int cp_session_stop_mode(enum cp_mode mode);
/* Stop, write the profile, forget what was collected. 0; -ESRCH when none runs; the write's error.
 */
int cp_session_stop(void);

/* A mode is on (it may be toggled off). Any context. */
bool cp_session_active(void);
/* This is the process that was started, or a fork that told us: not the child of a vfork, which
 * shares our memory, nor one that a raw clone made. Whether a mode is on doesn't matter. Any
 * context. */
bool cp_session_is_this(void);
/* A mode is on, and this is that process. Any context. */
bool cp_session_is_ours(void);

/* Write the files at the modes' own paths, whatever locks are held. Any context. */
void cp_session_write(const char *when, bool only_with_samples);
/* The same at the end of the process; then the helper adds lines to the files, for which the
 * process waits SECONDS at most. */
void cp_session_finish(const char *when, unsigned seconds);
/* MODE to PATH, absolute; or NULL: all modes to the next number. 0 or a negative errno. */
int cp_session_dump(enum cp_mode mode, const char *path);
/* The same to a descriptor, however long its reader makes us wait. */
int cp_session_dump_fd(enum cp_mode mode, int fd);
/* The heap and its further views, to the next number. */
int cp_session_dump_heap(void);
/* The heap as text (heap_text.h) into TO, opened by this. */
int cp_session_heap_text(struct cp_memory_sink *to);
/* MODE is on, here; and where its file goes. Any context. */
bool cp_session_runs(enum cp_mode mode);
void cp_session_path(enum cp_mode mode, char *to, size_t size);
/* The first of the main modes that is on. */
enum cp_mode cp_session_first_mode(void);

/* CPROF_LABEL_KEYS lets labels with KEY into files. Any context. */
bool cp_session_keeps_label(const char *key);

/* Before a module goes away: what the rings hold gets its identity, and the module is known for
 * what its destructors will do. */
void cp_session_drain_unloading(void);
/* When it has gone: what is in the rings since, if there is anything. */
void cp_session_drain_rest(void);
/* The caller is about to end the collector with the process, wherever that is: it begins
 * no file from here on. Before a last write, which waits for one that it may be at. Ordinary
 * context, and a fatal signal's handler. */
void cp_session_leave(void);
/* Then: writes the dumps that were asked for before, and waits for one that is under way. */
void cp_session_dump_asked(void);
/* It didn't come to that: what was asked for meanwhile is done. */
void cp_session_stay(void);
/* The caller, main or the only one, needs to be the only thread (unshare, setns), or changes what
 * ours has of it: ours ends; and comes back when the last of those who do so at the same time gives
 * back what the first call said; errno stays as it is. */
bool cp_session_park(void);
/* The same for what libc changes in all of its threads, which ours is none of as long as the
 * program has one thread. Any thread. */
bool cp_session_park_bare(void);
void cp_session_unpark(bool parked);
/* The program is about to forbid system calls: write, and become inert. */
void cp_session_retire(const char *why);

void cp_session_stats(enum cp_mode mode, struct cprof_stats *s);

/* Which process this is in its family; reads the environment the first time. Ordinary context. */
void cp_session_learn_lineage(void);

#endif
