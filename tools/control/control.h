/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiled processes that answer over their control sockets (base/control.h). For the verbs ps,
 * start, stop, set, record, dump and threads.
 */
#ifndef CT_CONTROL_H
#define CT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/control.h"

struct ct_controlled {
	int pid; /* in our pid namespace; 0: the process is not to be seen from here */
	unsigned user;
};

/* Who is asked for a status. */
struct ct_control_which {
	const int *pids;
	size_t count; /* 0: every process whose socket is found */
	bool spans;   /* for their spans, too */
	/* Called with the same ARG for each process that refuses us and that is in another user
	 * namespace; NULL: nobody wants to know. */
	void (*elsewhere)(int pid, void *arg);
};

/* Why those don't answer, and who may ask them. */
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
/* What is said of TEXT then, for printf. */
#define CT_CONTROL_NO_PROCESS "\"%s\" is no process id, and no path of CPROF_CONTROL"
/* How a message calls process PID: "812", or the path. */
const char *ct_control_name(int pid);
/* Its number in our pid namespace; 0: it isn't to be seen from here. */
int ct_control_pid(int pid);
/* Does process PID have the library loaded, as far as can be seen? */
bool ct_control_has_library(int pid);
/* Has process PID ended? Its parent may not have noticed yet. */
bool ct_control_has_ended(int pid);
/* Does nobody listen any more at the path that PID stands for? A process that is stopped listens.
 */
bool ct_control_path_is_left(int pid);
/* For those who follow many processes, each by several descriptors: raises the limit of descriptors
 * as far as it goes. Not before a program is executed, which would inherit it. */
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
/* The same for "for_ns", a length of time. */
void ct_control_nanoseconds(struct cp_control_message *m, double seconds);
/* Asks process PID: M becomes the reply. FD is passed with the request, unless it is -1. Returns
 * NULL, or the reason why there is no reply, which the caller frees. */
char *ct_control_ask(int pid, struct cp_control_message *m, int fd);

/* The value of KEY in reply M, to be freed; NULL: it isn't there. */
char *ct_control_value(const struct cp_control_message *m, const char *key);
/* The same as a number; 0: it isn't there. */
unsigned long long ct_control_number(const struct cp_control_message *m, const char *key);

#endif
