/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/push/, by the file that implements them. */
#ifndef CP_PUSH_PUSH_H
#define CP_PUSH_PUSH_H

#include "control/control.h"

/* push_labels.c
 *
 * The labels by which a process is found at the receiver: service_name, host, pid, those of
 * Kubernetes and OpenTelemetry, and the user's own. Called by push_follow.c.
 *
 * They come from the process's environment as it was at its start, so that processes of one tree,
 * or of one host, each have their own.
 */

struct ct_push_labels_how {
	const char *name;	   /* service_name; NULL: the name of the process */
	const struct ct_list *own; /* "key=value"; without a value the label is removed */
};

/* Returns lines "key=value\n" for process PID, to be freed. PROGRAM is the service's name if
 * nothing else names it. PID is this process itself: ENDED is the process that ended, whose
 * environment this process has. */
char *ct_push_labels_of(int pid, const char *program, int ended,
			const struct ct_push_labels_how *how);
/* Is TEXT "key=value", with a key that receivers take? */
bool ct_push_labels_is_good(const char *text);
/* Returns the value that variable NAME of process PID had at its start, to be freed; NULL: not set,
 * or unreadable. */
char *ct_push_labels_variable(int pid, const char *name);

/* push_item.c
 *
 * One profile on its way to a receiver: gzipped pprof and what the receiver must know of it. Made
 * by push_series.c, kept by push_queue.c and push_spool.c, sent by push_request.c. */

struct ct_push_item {
	char *series;	  /* the receiver's name for the measured quantity: "process_cpu" */
	char *labels;	  /* labels of the process as lines "key=value\n" */
	int64_t from_ns;  /* begin, UTC */
	int64_t until_ns; /* end, UTC */
	size_t samples;
	char *data; /* gzipped pprof */
	size_t size;
};

/* Packs P. Returns NULL if memory streams fail. */
struct ct_push_item *ct_push_item_new(const char *series, const char *labels, int64_t from_ns,
				      int64_t until_ns, const struct ct_profile *p);
void ct_push_item_free(struct ct_push_item *item);

/* Returns the size of the item's profile before it was compressed. */
size_t ct_push_item_unpacked(const struct ct_push_item *item);
/* Returns the item's profile, or NULL if it can't be read. */
struct ct_profile *ct_push_item_profile(const struct ct_push_item *item);
/* Sets *FIRST and *SECOND to items with half the samples each. Returns 0; or -1 if there is only
 * one sample. */
int ct_push_item_halve(const struct ct_push_item *item, struct ct_push_item **first,
		       struct ct_push_item **second);

/* Writes the item to a file of the spool. Returns 0 or a negative errno. */
int ct_push_item_save(const struct ct_push_item *item, FILE *to);
/* Reads such a file. Returns NULL if it isn't one, or is damaged. */
struct ct_push_item *ct_push_item_load(FILE *from);

/* Calls SEE for each label. */
void ct_push_item_each_label(const struct ct_push_item *item,
			     void (*see)(const char *key, const char *value, void *arg), void *arg);
/* Returns the value of label KEY, to be freed; NULL: no such label. */
char *ct_push_item_label(const struct ct_push_item *item, const char *key);

/* push.c
 *
 * The target of a push: a receiver and its protocol, or a directory. */

enum ct_push_kind {
	CT_PUSH_PYROSCOPE, /* push.v1.PusherService/Push, by Connect */
	CT_PUSH_INGEST,	   /* Pyroscope's older /ingest */
	CT_PUSH_PARCA,	   /* WriteRaw, by HTTP */
	CT_PUSH_OTLP,	   /* OTLP over HTTP */
	CT_PUSH_DATADOG,   /* the Datadog agent's intake */
	CT_PUSH_DIRECTORY, /* a file for each window */
};

struct ct_push_target {
	enum ct_push_kind kind;
	char *url;			  /* URL of requests; for a directory its path */
	bool is_clear_text;		  /* http, but not to this machine */
	size_t samples_max, unpacked_max; /* limits of one profile; 0: unknown */
	unsigned batch;			  /* most profiles in one request */
	long depth_max;			  /* most frames of a stack; 0: unknown */
};

/* Reads TEXT ("http://host:4040", "dir:/path") and TO, the protocol's name, or NULL: what the path
 * or the port of the URL says, else Pyroscope. Returns 0; or -1 with *WHY, a message that the
 * caller frees. */
int ct_push_target_read(struct ct_push_target *t, const char *text, const char *to, char **why);
void ct_push_target_release(struct ct_push_target *t);
/* The protocol's name, as -to has it. */
const char *ct_push_target_protocol(const struct ct_push_target *t);

/* push_send.c
 *
 * Makes one attempt to send profiles: over HTTP by libcurl, or to a directory. push_queue.c calls
 * this from its thread, and decides what to do about a failure. */

struct ct_push_credentials {
	/* Files with one line: "user:password", a bearer token, a tenant's name; the certificates
	 * that a receiver's is checked with. NULL: the variables CPROF_PUSH_USER, CPROF_PUSH_TOKEN
	 * and CPROF_PUSH_TENANT, each also as NAME_FILE. Files are read anew for each request. */
	const char *user_file, *token_file, *tenant_file, *ca_file;
};

enum ct_push_outcome {
	CT_PUSH_SENT,
	CT_PUSH_LATER,	 /* no answer, or one that asks to try later */
	CT_PUSH_HELD,	 /* the user must change something first: a credential, an address */
	CT_PUSH_TOO_BIG, /* the receiver may accept fewer samples */
	CT_PUSH_REFUSED, /* the receiver will never accept these profiles */
};

struct ct_push_reply {
	enum ct_push_outcome outcome;
	double after;	/* seconds that the receiver asks to wait; 0: none given */
	char text[400]; /* what went wrong, for the user */
};

struct ct_push_sender;

/* Returns NULL with *WHY, a message that the caller frees. TARGET and HOW must live on. LIMIT:
 * bytes that a directory may hold of profiles. */
struct ct_push_sender *ct_push_send_open(const struct ct_push_target *target,
					 const struct ct_push_credentials *how, uint64_t limit,
					 char **why);
void ct_push_send(struct ct_push_sender *s, struct ct_push_item *const *items, size_t count,
		  struct ct_push_reply *reply);
/* Gives up a request that is under way SECONDS from now. From any thread. */
void ct_push_send_until(struct ct_push_sender *s, double seconds);
void ct_push_send_close(struct ct_push_sender *s);

/* push_spool.c
 *
 * Profiles that couldn't be sent yet, on disk: bounded in size and age, and sent by the next push
 * to the same target if this one ends before. For push_queue.c, which calls with its lock held.
 */

struct ct_push_spool;

/* Opens the spool for TARGET below DIRECTORY (NULL: XDG_STATE_HOME/cprof/push). SIZE: most bytes.
 * SECONDS: the greatest age. Takes over what earlier pushes left. Returns NULL with *WHY, a message
 * that the caller frees, if there can be none. */
struct ct_push_spool *ct_push_spool_open(const char *directory, const struct ct_push_target *target,
					 uint64_t size, double seconds, char **why);
void ct_push_spool_close(struct ct_push_spool *s);

/* Keeps ITEM, which the caller still owns. Adds to *LOST how many old ones had to go for it.
 * Returns 0 or a negative errno. */
int ct_push_spool_add(struct ct_push_spool *s, const struct ct_push_item *item, size_t *lost);
/* Returns the number of items. */
size_t ct_push_spool_count(const struct ct_push_spool *s);
/* Loads item I; 0 is the oldest. Returns NULL if it can't be read. */
struct ct_push_item *ct_push_spool_load(const struct ct_push_spool *s, size_t i);
/* Removes the COUNT oldest items. */
void ct_push_spool_remove(struct ct_push_spool *s, size_t count);
/* Removes the items that are too old. Returns how many. */
size_t ct_push_spool_expire(struct ct_push_spool *s);

/* push_queue.c
 *
 * Profiles that wait to be sent, and a thread that sends them. It splits what is too big, tries
 * again what may still be accepted, and counts what is lost. Called by push.c and push_follow.c.
 */

struct ct_push_queue_how {
	const struct ct_push_target *target;
	const struct ct_push_credentials *credentials;
	const char *spool;   /* directory; NULL: the default; "none": profiles are kept in memory */
	uint64_t size;	     /* most bytes to keep */
	double seconds;	     /* greatest age to keep */
	bool verbose, quiet; /* QUIET: only losses are reported, at the end */
};

struct ct_push_counts {
	uint64_t sent, sent_bytes; /* profiles; bytes of their packed form */
	uint64_t kept;		   /* left in the spool for the next push */
	uint64_t refused, too_old, no_room, unsent;
};

struct ct_push_queue;

/* Returns NULL with *WHY, a message that the caller frees. HOW must stay valid. */
struct ct_push_queue *ct_push_queue_open(const struct ct_push_queue_how *how, char **why);
/* Takes over ITEM; NULL is fine. */
void ct_push_queue_add(struct ct_push_queue *q, struct ct_push_item *item);
/* Sends for SECONDS at most, and ends. The rest goes to the spool. */
void ct_push_queue_close(struct ct_push_queue *q, double seconds, struct ct_push_counts *counts);

/* push_series.c
 *
 * Turns a window's profile into what receivers expect: one profile per series, with the names that
 * people look for there. Called by push_follow.c. */

/* A heap's profile becomes two: allocations of the window, and memory in use at its end. */
#define CT_PUSH_SERIES_MAX 2

struct ct_push_series_how {
	const struct ct_push_target *target;
	const char *keys; /* globs, separated by commas, of the labels of samples that are kept;
			     NULL: none for a receiver, all for a directory */
	bool all_frames;  /* receivers get the frames that drop_frames names, too */
};

/* Makes the items of P, a profile of mode MODE (for a profile that isn't known otherwise), and
 * returns how many; 0: nothing is in it. P must be symbolized. LABELS are those of the process. P's
 * values may change. */
size_t ct_push_series_items(struct ct_profile *p, const char *mode, const char *labels,
			    const struct ct_push_series_how *how,
			    struct ct_push_item *items[CT_PUSH_SERIES_MAX]);

/* push_follow.c
 *
 * Follows the processes whose windows are pushed. Called by push.c. */

struct ct_push_follow_how {
	struct ct_push_series_how series;
	struct ct_push_labels_how labels;
	struct ct_push_queue *queue;
	double every;		  /* seconds between two windows */
	const char *const *roots; /* roots of debug files, as for symbolize */
	bool verbose;
	bool takes_files; /* files belong to us, and are removed after they were read */
};

struct ct_push_follow;

struct ct_push_follow *ct_push_follow_new(const struct ct_push_follow_how *how);
void ct_push_follow_free(struct ct_push_follow *f);

/* Follows process PID from now on; FROM_START: also what its modes have seen before. Modes are
 * those that the user chose (verbs.h), else those that are on, else, if START, CPU time.
 * Returns 0; or -1 with *WHY, a message that the caller frees. A process that is followed already
 * is left alone. */
int ct_push_follow_add(struct ct_push_follow *f, int pid, bool from_start, bool start, char **why);
/* Follows all processes that answer and for which IS_WANTED (NULL: all) says so. */
void ct_push_follow_all(struct ct_push_follow *f, bool from_start,
			bool (*is_wanted)(const struct cp_control_message *status, void *arg),
			void *arg);
/* Takes a window of each process. */
void ct_push_follow_take(struct ct_push_follow *f);
/* Takes the last window of processes that have ended, from their files, and forgets them. Waits for
 * an end, a readable FD (-1: none), or SECONDS. Returns whether FD is readable. */
bool ct_push_follow_wait(struct ct_push_follow *f, int fd, double seconds);
/* Returns how many processes are followed. */
size_t ct_push_follow_count(const struct ct_push_follow *f);
/* Returns how many windows were lost because their process ended without a file. */
size_t ct_push_follow_lost(const struct ct_push_follow *f);

/* Pushes all of FILE, the profile of a process that has ended. Returns whether something was in it.
 */
bool ct_push_follow_file(struct ct_push_follow *f, const char *file);

/* Reads files of processes that have ended, and gets facts about the process from them. Called by
 * push_follow.c and push_command.c. */

/* Reads the profile PATH, a plain file. Returns NULL if it can't be read. */
struct ct_profile *ct_push_follow_ended_read(const char *path);

int ct_push_follow_ended_pid(const struct ct_profile *p);

/* push.c
 *
 * The ways in which `cprof push` runs, for verb_push.c. Each returns the exit status.
 */

struct ct_push_how {
	const struct ct_push_target *target;
	const struct ct_push_queue_how *queue;
	struct ct_push_follow_how *follow; /* its field QUEUE is filled in here */
	double flush;			   /* seconds that the end may take */
};

/* Pushes COUNT PIDS until all have ended; COUNT 0: all processes of this host, until a signal. */
int ct_push_processes(const struct ct_push_how *how, const int *pids, size_t count);
/* Runs a command, and ends as it does. */
int ct_push_command(const struct ct_push_how *how, char **argv);
/* Pushes files of a process that has ended. */
int ct_push_files_of_ended(const struct ct_push_how *how, char *const *files, size_t count);

/* The common part of all ways (push.c): a queue with its follower, and a descriptor that becomes
 * readable when the push must end. */
struct ct_push {
	const struct ct_push_how *how;
	struct ct_push_queue *queue;
	struct ct_push_follow *follow;
	int end;   /* an eventfd */
	bool idle; /* nothing was pushed, so no line reports 0 profiles */
};

/* Returns 0, or -1 after a message. With CATCH, SIGINT, SIGTERM and SIGHUP end the push. */
int ct_push_begin(struct ct_push *p, const struct ct_push_how *how, bool catch);
/* Sends the rest, and prints what was sent and lost. Returns CT_OK, or CT_FAILED if something was
 * lost. */
int ct_push_end(struct ct_push *p);
/* Until the end: calls LOOK every second, which returns whether to go on, and takes windows. */
void ct_push_loop(struct ct_push *p, bool (*look)(struct ct_push *p, void *arg), void *arg);

/* Files of a directory whose names begin with a time, oldest first. For push_spool.c and
 * push_send.c.
 */

struct ct_push_files {
	struct ct_push_file {
		char *name;
		uint64_t size;
	} * items;
	size_t count, room;
	uint64_t bytes; /* bytes of all files, including those that aren't in the list */
};

/* Lists the plain files of PATH whose names end in SUFFIX, by name. */
struct ct_push_files ct_push_files_list(const char *path, const char *suffix);
void ct_push_files_release(struct ct_push_files *f);

/* Removes the oldest files, a few thousand at most, until the others are at most LIMIT bytes
 * together. Returns how many bytes are left. */
uint64_t ct_push_files_limit(const char *path, const char *suffix, uint64_t limit);
void ct_push_files_remove(const char *path, const char *name);

/* push_symbols.c
 *
 * Adds lines and inlined calls to one window after the other. Results are kept per address, so a
 * window costs only for its new addresses. Called by push_follow.c. */

struct ct_push_symbols;

/* ROOTS is as for ct_symbolize_profile, and must stay valid. */
struct ct_push_symbols *ct_push_symbols_new(const char *const *roots);
void ct_push_symbols_free(struct ct_push_symbols *s);
/* Adds lines to the locations of P that have none. */
void ct_push_symbols_apply(struct ct_push_symbols *s, struct ct_profile *p);

/* push_modes.c
 *
 * The modes of a followed process: their windows, from the first one to the rest at the end. Called
 * by push_follow.c. */

struct ct_push_mode {
	struct ct_window *window; /* NULL: the mode is not followed */
	char *path;		  /* file that the mode writes at its end, to be removed; or NULL */
	unsigned long long since; /* UTC seconds: start of the mode's run */
	int64_t until_ns;	  /* end of the last pushed window */
	bool any;		  /* a window was taken */
	bool ending;		  /* the last window came when the process had written its files */
};

struct ct_push_process {
	int pid;     /* a number below 0 stands for a path (control.h) */
	int process; /* a pidfd; -1: the process is not visible */
	char *program, *labels;
	struct ct_push_mode modes[CT_MODES];
	bool gone;
};

/* Settings that all windows are pushed with. */
struct ct_push_modes {
	const struct ct_push_follow_how *how;
	struct ct_push_symbols *symbols;
	size_t lost; /* number of lost windows */
};

/* Opens the modes that are to be followed and aren't yet. Returns how many are followed; *WHY is
 * the reason of one that isn't. */
unsigned ct_push_modes_open(struct ct_push_modes *all, struct ct_push_process *p,
			    const struct cp_control_message *status, bool from_start, bool start,
			    char **why);
/* Takes a window of MODE. Returns false if the mode has ended. */
bool ct_push_modes_take(struct ct_push_modes *all, struct ct_push_process *p, int mode);
/* Pushes the rest of MODE after its last window, which the process has sent. */
void ct_push_modes_end(struct ct_push_modes *all, struct ct_push_process *p, int mode);
void ct_push_modes_close(struct ct_push_mode *m);

/* Pushes P, a profile of MODE or of a companion, with LABELS. */
void ct_push_modes_push(struct ct_push_modes *all, struct ct_profile *p, const char *mode,
			const char *labels);
/* Prints TEXT if the user wants to know everything; frees it. */
void ct_push_modes_say(const struct ct_push_modes *all, char *text);

/* push_request.c
 *
 * Makes the bytes of a request, as each receiver expects them. Called by push_send.c. */

struct ct_push_request {
	char *url;
	char *type;	    /* Content-Type */
	const char *header; /* one more header; or NULL */
	char *body;
	size_t size;
};

/* Makes the request that sends COUNT items, at most the target's batch. Returns 0, or -1 if an item
 * can't be read. */
int ct_push_request_make(struct ct_push_request *r, const struct ct_push_target *t,
			 struct ct_push_item *const *items, size_t count);
void ct_push_request_release(struct ct_push_request *r);

#endif
