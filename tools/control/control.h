/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/control/, by the file that implements them. */
#ifndef CP_CONTROL_CONTROL_H
#define CP_CONTROL_CONTROL_H

#include <sys/socket.h>
#include <sys/types.h>

#include "base/control.h"
#include "core/model.h"

/* control.c
 *
 * Profiled processes that answer over their control sockets (base/control.h). For the verbs ps,
 * start, stop, set, record, dump and threads.
 */

struct ct_controlled {
	int pid; /* number in our pid namespace; 0: the process is not visible here */
};

/* The processes to ask for a status. */
struct ct_control_which {
	const int *pids;
	size_t count; /* 0: every process whose socket is found */
	bool spans;   /* ask for their spans, too */
	/* Called with the same ARG for each process in another user namespace that refuses us;
	 * NULL: not called. */
	void (*elsewhere)(int pid, void *arg);
};

/* Text: why such processes don't answer, and who may ask them. */
#define CT_CONTROL_ELSEWHERE                                                                       \
	"a user namespace without a map of its users, or with capabilities there; ask as "         \
	"root of that namespace, which needs a map (unshare --map-root-user, nsenter --user)"

/* Calls SEE for each process of WHICH (NULL: all) that answers, with its status. All are asked at
 * once, and have a second together. Processes of others, which don't answer us, are left out. */
void ct_control_each(const struct ct_control_which *which,
		     void (*see)(const struct ct_controlled *p,
				 const struct cp_control_message *status, void *arg),
		     void *arg);

/* The process that TEXT names, for all functions that take a process: its id, or a number below 0
 * for a path of CPROF_CONTROL, whose process may be out of sight. 0: TEXT is neither. */
int ct_control_process(const char *text);
/* printf's format of the message about TEXT. */
#define CT_CONTROL_NO_PROCESS "\"%s\" is no process id, and no path of CPROF_CONTROL"
/* Returns the name of process PID for messages: "812", or the path. */
const char *ct_control_name(int pid);
/* Returns the number of process PID in our pid namespace; 0: it is not visible here. */
int ct_control_pid(int pid);
/* Does process PID have the library loaded, as far as can be seen? */
bool ct_control_has_library(int pid);
/* Has process PID ended? Its parent may not have noticed yet. */
bool ct_control_has_ended(int pid);
/* Has everybody stopped listening at the path that PID stands for? A process that is stopped still
 * listens. */
bool ct_control_path_is_left(int pid);
/* Raises the limit of descriptors as far as possible, for verbs that follow many processes, each by
 * several descriptors. Not before exec, because the program would inherit the limit. */
void ct_control_raise_descriptors(void);
/* Calls SEE as ct_control_each does for process PID. Returns NULL or the reason why there is no
 * reply, which the caller frees. */
char *ct_control_one(int pid,
		     void (*see)(const struct ct_controlled *p,
				 const struct cp_control_message *status, void *arg),
		     void *arg);
/* Makes *M a request without text. */
void ct_control_request(struct cp_control_message *m, enum cp_control_request request);
/* Adds the line KEY=VALUE to request M, if there is room. A line break in VALUE is left out. */
void ct_control_line(struct cp_control_message *m, const char *key, const char *value);
/* The same for a length of time, "for_ns". */
void ct_control_nanoseconds(struct cp_control_message *m, double seconds);
/* The same for COUNT modes and companions, "mode". */
void ct_control_names(struct cp_control_message *m, const char *const *names, int count);
/* Asks process PID: M becomes the reply. FD is passed with the request, unless it is -1. Returns
 * NULL, or the reason why there is no reply, which the caller frees. */
char *ct_control_ask(int pid, struct cp_control_message *m, int fd);

/* Returns the value of KEY in reply M, to be freed; NULL: M doesn't have KEY. */
char *ct_control_value(const struct cp_control_message *m, const char *key);
/* The same as a number; 0: M doesn't have KEY. */
unsigned long long ct_control_number(const struct cp_control_message *m, const char *key);
/* The same of "MODE.KEY". */
unsigned long long ct_control_mode_number(const struct cp_control_message *m, const char *mode,
					  const char *key);
/* Asks process PID for its status: M becomes the reply. Returns as ct_control_ask. */
char *ct_control_status(int pid, struct cp_control_message *m);

/* The modes by the names that profiled processes know. */

enum { CT_CPU, CT_WALL, CT_HEAP, CT_LOCK, CT_IO, CT_EVENT, CT_MODES };

/* Another view of a mode's samples: a profile of its own. */
struct ct_companion {
	const char *name;  /* name in requests; NULL: there is none */
	const char *infix; /* its part of file names: NAME.peak.EXT */
	/* The profile has the mode's samples once more, so no window of it is kept or pushed. */
	bool repeats;
};

#define CT_COMPANIONS 2

struct ct_control_mode {
	const char *name, *path; /* "cpu"; the variable of its file */
	const char *setting;	 /* the variable of its setting; NULL: it has none */
	bool waits;		 /* it records waits: losses are counted in ns, not in samples */
	struct ct_companion companions[CT_COMPANIONS];
};

extern const struct ct_control_mode ct_control_modes[CT_MODES];

/* Returns the number of the mode NAME, or -1. */
int ct_control_modes_find(const char *name);

/* Requests that a process answers by a profile (base/control.h).
 */

/* Asks process PID with a file in memory, and reads that into *P; M becomes the reply. Returns 0;
 * the error of the reply, with *WHY NULL; or -EIO with the reason in *WHY, which the caller frees.
 */
int ct_control_profile_ask(int pid, struct cp_control_message *m, struct ct_profile **p,
			   char **why);

/* Asks for the profiles NAMES, COUNT modes and companions, of one moment: P[I] becomes that of
 * NAMES[I], NULL if it isn't on. Returns as ct_control_profile_ask. */
int ct_control_profile_ask_all(int pid, struct cp_control_message *m, const char *const *names,
			       int count, struct ct_profile **p, char **why);

/* Returns the message about process PID, whose library knows no lists of modes; to be freed. */
char *ct_control_profile_older(int pid);

/* Reads the profile in FD. Returns NULL with the reason in *WHY. */
struct ct_profile *ct_control_profile_read(int fd, char **why);

/* Where every thread of process PID is now: one sample for each, with the labels "thread", "tid",
 * "state" ("running" and "runnable": it has no stack; "waiting"; "unknown"), "syscall" (its number)
 * and what it waits for (thread_wait.c). Names of functions are to be added by
 * ct_symbolize_profile: the paths of modules are such that they can be read from here. Returns
 * NULL with the reason in *WHY, which the caller frees. The process needs no mode that is on. */
struct ct_profile *ct_control_profile_threads(int pid, char **why);

/* control_space.c
 *
 * Network namespaces: the names of abstract sockets in them, and connections to those. For
 * control.c.
 *
 * A container mostly has a namespace of its own. To connect to a socket there, a child of ours
 * joins the namespace, connects, and hands the connection over. That needs the rights of root, or
 * those of the user who made the container's user namespace.
 */

struct ct_control_space {
	dev_t device;
	ino_t inode; /* inode of /proc/PID/ns/net */
	int pid;     /* some process in it; 0: it is our own */
};

/* Sets *S to the namespace of process PID, or to our own if the other is unknown. */
void ct_control_space_of(struct ct_control_space *s, int pid);
/* Returns the COUNT namespaces of all processes, our own first; to be freed. */
struct ct_control_space *ct_control_space_all(size_t *count);
/* Calls SEE for the abstract name, without its NUL, of each socket in S that begins with PREFIX and
 * takes connections. */
void ct_control_space_names(const struct ct_control_space *s, const char *prefix,
			    void (*see)(const char *name, unsigned long inode, void *arg),
			    void *arg);
/* Sets *USER to the user who made the socket INODE, which is in our own namespace. Returns false if
 * the kernel doesn't tell. */
bool ct_control_space_owner(unsigned long inode, unsigned *user);
/* Returns a connection to NAME in S that doesn't block, or a negative errno. Doesn't wait: -EAGAIN
 * if as many others wait as the kernel keeps. */
int ct_control_space_connect(const struct ct_control_space *s, const char *name);
/* The same as the user of process PID, for root; NAME may be a path. A process in a user namespace
 * may not know root as a user, but it knows its own. */
int ct_control_space_connect_as(const struct ct_control_space *s, const char *name, int pid);
/* At most this many connections wait, and one more. */
#define CT_CONTROL_SPACE_BACKLOG 128
/* Returns a socket that doesn't block and listens at NAME in S, or a negative errno. */
int ct_control_space_listen(const struct ct_control_space *s, const char *name);

/* Sends a message over socket TO, with descriptor PASSED unless that is negative. Returns 0 or a
 * negative errno. */
int ct_control_space_send(int to, const void *message, size_t size, int passed);

/* Connects to the socket at PATH in the file system, as ct_control_space_connect does. */
int ct_control_space_connect_path(const char *path);

/* control_talk.c
 *
 * One request over a connection to a process. For control.c and control_each.c.
 */

/* Time to wait for all processes of a list together, so that a list takes less than a second. Also
 * the time to wait for a process whose queue of connections is full. */
#define CT_CONTROL_GLANCE_MS 900

/* Sends request M over FD, with descriptor PASSED unless that is -1. Returns 0 or a negative errno:
 * -ECONNRESET if the process has closed the connection. */
int ct_control_talk_send(int fd, const struct cp_control_message *m, int passed);
/* Receives the reply, which is there, and checks it. Returns 0 or a negative errno: -ECONNRESET if
 * the process closed the connection without a reply, -EBADMSG if the reply is none. */
int ct_control_talk_receive(int fd, struct cp_control_message *m);
/* Time between two attempts to connect to a process. */
#define CT_CONTROL_RETRY_MS 20

/* The other end of a connection. */
struct ct_control_end {
	struct ct_control_space space;
	char name[112]; /* name of the socket: abstract, without its NUL, or a path */
	struct ucred owner;
};

/* Connects to process PID, or to its path, and sets *E. Doesn't wait. Returns the descriptor;
 * -EAGAIN: its queue of connections is full, or that of a socket that somebody has named so; or a
 * negative errno. */
int ct_control_talk_connect(int pid, struct ct_control_end *e);
/* Connects to the name in *E, in its space, as above. A process at the other end that is in sight
 * must have that name, and be this user's, unless this is root: others don't answer. */
int ct_control_talk_connect_name(struct ct_control_end *e);
/* Connects again as the owner of E. Root does so when a process in a user namespace doesn't know
 * root. */
int ct_control_talk_connect_as_owner(const struct ct_control_end *e);
/* Is E's process in another user namespace? */
bool ct_control_talk_is_elsewhere(const struct ct_control_end *e);
/* Returns monotonic milliseconds. */
long long ct_control_talk_now(void);

/* helper.c
 *
 * What the helpers have in common that the library starts: `cprof push -helper URL` for CPROF_PUSH,
 * `cprof serve -helper ADDRESS` for CPROF_SERVE.
 *
 * One helper works for all processes of a user that ask for the same: each process starts one, but
 * only the first stays. An abstract socket's name tells that a helper is there. The kernel frees it
 * when the helper ends. It is visible where the processes' own sockets are. Other users may take
 * such names, so a lock in the user's own directory decides first, if there is one.
 */

/* Keeps other helpers of VERB for ARGUMENT away until ct_helper_leave. Returns false if there is
 * one already. */
bool ct_helper_become_only(const char *verb, const char *argument);
void ct_helper_leave(void);
/* Sends messages to the file VERB.log of the user's state, because a helper has no terminal. */
void ct_helper_open_log(const char *verb);

/* last_window.c
 *
 * Receives what a process sends at its end to a consumer of its windows (base/control.h, "last=1").
 * For window.c. */

struct ct_last_window;

/* Listens for the end of process PID as consumer NUMBER. Returns NULL if that is impossible; then
 * the last window is lost. */
struct ct_last_window *ct_last_window_listen(int pid, uint64_t number);
/* Turns strangers away, who would fill the kernel's queue of connections: to be called from time to
 * time. Doesn't wait. L may be NULL. */
void ct_last_window_turn_away(struct ct_last_window *l);
/* Calls SEE for each window that the process has sent, with its mode or companion. SEE owns the
 * profile. Doesn't wait. L may be NULL. */
void ct_last_window_receive(struct ct_last_window *l,
			    void (*see)(const char *mode, struct ct_profile *p, void *arg),
			    void *arg);
/* Adds P, which it takes over, to *ALL: threads may go on after a first window was sent, and then a
 * second one comes. *ALL may be NULL before. */
void ct_last_window_add(struct ct_profile **all, struct ct_profile *p);
/* L may be NULL. */
void ct_last_window_close(struct ct_last_window *l);

/* thread_wait.c
 *
 * Tells in words what each thread of a process waits for, from the labels of the process's profile
 * of its threads (lib/session/session.h). */

/* A thread. Without the label, a text is "" and a number is -1. */
struct ct_thread_wait {
	const struct ct_sample *sample;
	const char *name, *state, *cause;
	const char *lock, *lock_kind;
	const char *kind, *target, *child_name;
	int64_t tid, call, holder, readers, joined, fd, descriptors, child, deadlock;
};

struct ct_thread_wait ct_thread_wait_of(const struct ct_profile *p, const struct ct_sample *s);
/* Returns "for mutex queue_lock, held by main(12)" or the like, to be freed; NULL if no more is
 * known than the system call. OTHERS, COUNT of them, have the names of threads. The text has names
 * of files: it may contain control characters. */
char *ct_thread_wait_text(const struct ct_thread_wait *w, const struct ct_thread_wait *others,
			  size_t count);
/* Returns the name of a system call in which threads wait, or "system call 12", valid until the
 * next call. */
const char *ct_thread_wait_call(int64_t number);

/* window.c
 *
 * Windows of a running process: what happened in one mode since it was last asked for. For `cprof
 * record`, serve and push.
 *
 *     struct ct_window *w;
 *     struct ct_window_taken t;
 *     char *why;
 *
 *     if (ct_window_open(&w, pid, &(struct ct_window_how){ .mode = "cpu", .lease = 60 }, &why))
 *         ... say WHY
 *     ... later, and as often as wanted:
 *     switch (ct_window_take(w, &t, &why)) ...
 *     ct_window_taken_release(&t);
 *     ...
 *     ct_window_close(w);
 *
 * A mode that is off is turned on for the window, without a file of its own, and off again at the
 * close of the last window that anybody has of it. A mode that is on goes on as it is. A window
 * costs the process in proportion to what happened in it. Not thread-safe: a window is for one
 * thread at a time; several threads may have a window each.
 */

struct ct_window;

/* A window as the process knows it. Any program that has this id can go on with the window. */
struct ct_window_id {
	uint64_t consumer; /* a random number, not 0 */
	/* The end of the last take as the process counts time; 0: nothing was taken yet.
	 * CT_WINDOW_ALL: the first take has all since the mode's start. */
	uint64_t since;
};

#define CT_WINDOW_ALL UINT64_C(1)

/* Draws the number of a new window. */
struct ct_window_id ct_window_id_new(void);

struct ct_window_how {
	const char *mode;    /* "cpu", "wall", "heap", "lock", "io", "event" */
	const char *setting; /* rate, interval or threshold; NULL or "": the default. A mode that is
				on keeps its own */
	double lease; /* seconds, above 0: time after the last take when a mode that was turned on
			 for this window ends by itself if this program is killed. Longer than the
			 time between two takes */
	bool from_start;  /* the first take has everything since the start of a mode that was on */
	bool empty;	  /* empty companions are wanted, too */
	const char *only; /* The only companion that is wanted; the process isn't asked for others.
			     NULL: all */
	/* NULL: a new window. Otherwise the window goes on if something was taken before, and each
	 * take changes *ID. */
	struct ct_window_id *id;
	double patience; /* the shortest lease for a mode that was on with a file of its own */
	bool holds;	 /* nothing will be taken: a mode without a file stays on for the lease, and
			    keeps everything since its start */
};

/* What happened since the last take, or since the open. The profiles' time_nanos and duration_nanos
 * are those of the window. Both are symbolized as the process can: functions, without lines.
 *
 * What is of a moment is that of the window's end (ct_model_is_of_moment). heap: alloc_* are the
 * window's, inuse_* what is in use now; peak: total_* are the window's, peak_* what was in use at
 * the highest point since the mode's start. Memory from before the mode was turned on is never
 * known. */
struct ct_window_taken {
	struct ct_profile *profile; /* NULL: none; see the results */
	/* Profiles of the mode's companions (control.c). NULL: there is no such companion, it
	 * isn't wanted (see ONLY), or it is empty (see EMPTY). */
	struct ct_profile *companions[CT_COMPANIONS];
	bool ending; /* the process has written its files: it is about to end */
};

enum ct_window_result {
	CT_WINDOW_OK, /* the profile also has what the process did before an exec */
	/* The process is gone and has sent no more. At its end it sends what followed the last
	 * take, which the next take returns. No profile. */
	CT_WINDOW_ENDED,
	/* The process lives, but the mode was turned off, or the process has called exec. No
	 * profile: the take before this one returned what the process had sent. */
	CT_WINDOW_STOPPED,
	/* No answer this time, for the reason in *WHY. The next take may succeed, and then covers
	 * this one's time, too. No profile. */
	CT_WINDOW_FAILED,
};

/* Returns 0; or a negative errno with *WHY, a message for the user that says what to do, which the
 * caller frees. -EUSERS: too many others have windows of the mode. */
int ct_window_open(struct ct_window **w, int pid, const struct ct_window_how *how, char **why);
/* *WHY is set, and to be freed, with every result but CT_WINDOW_OK. Waits for the process for ten
 * seconds at most. */
enum ct_window_result ct_window_take(struct ct_window *w, struct ct_window_taken *to, char **why);
/* Takes only what the process has sent by itself, at its end or before an exec, and asks it for
 * nothing. Returns whether it has sent a window of the mode; if not, TO is empty. Doesn't wait. */
bool ct_window_take_sent(struct ct_window *w, struct ct_window_taken *to);
void ct_window_taken_release(struct ct_window_taken *t);
/* Turns away strangers who connect where the process sends its last window, so that it gets
 * through. To be called from time to time between takes; doesn't wait. */
void ct_window_turn_away(struct ct_window *w);
/* Turns a mode off that was turned on for a window, unless another window is open. NULL is fine. */
void ct_window_close(struct ct_window *w);
/* Leaves the window open for another program that goes on with it within the lease. Returns the
 * lease in seconds; 0: the process has none. */
double ct_window_leave(struct ct_window *w);
/* Closes a window that was left open. */
void ct_window_end(int pid, const char *mode, uint64_t consumer);

/* Returns whether the mode was on before the window was opened. */
bool ct_window_was_on(const struct ct_window *w);

#endif
