/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of the control socket: what `cprof` asks of a profiled process, and what it is told.
 *
 * The socket is of type SOCK_SEQPACKET. Its name is abstract: NUL, CP_CONTROL_NAME, and the pid as
 * the process itself counts; where that name is taken, "." and a number follow. A connection
 * carries one request and one reply, both a struct cp_control_message that is cut after SIZE bytes
 * of TEXT. Host byte order: both ends are on one machine.
 *
 * The library and the tool may be of different versions. A reply always has the version of the
 * library; a request of another version gets -EPROTO and no text. New keys in a text don't change
 * the version.
 */
#ifndef CP_CONTROL_H
#define CP_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#define CP_CONTROL_MAGIC UINT32_C(0x4c544350)
#define CP_CONTROL_VERSION 1
#define CP_CONTROL_NAME "libcprof/"
/* A consumer of windows that said "last=1" listens, by a socket of the same type, at the abstract
 * name NUL, CP_CONTROL_LAST, and its number as "%lx". At its end the process connects there, if the
 * listener is one that may ask, and sends for each window that is open (but of a mode whose file
 * was written since the last take, to one that began with "do=all") a message whose text is the
 * mode's name, with the descriptor of a memfd that has the profile. It waits for nobody. */
#define CP_CONTROL_LAST "libcprof-last/"
/* Most bytes of TEXT. */
#define CP_CONTROL_TEXT 8176

/* clang-format off */
/* | request | text                     | descriptor | result, text of the reply                        |
 * |---------|--------------------------|------------|--------------------------------------------------|
 * | STATUS  | none, or "spans=1"       | none       | lines "key=value"; "cpu.key=value" for each mode;|
 * |         |                          |            | "push=URL", "serve=ADDRESS": the variables;      |
 * |         |                          |            | "follower=PID", of CPROF_PUSH's helper;          |
 * |         |                          |            | "span.N=COUNT SUM_NS NS:COUNT_UP_TO_IT,... NAME",|
 * |         |                          |            | "spent.N=CPU_NS WAIT_NS ALLOCATED_BYTES" of it   |
 * | START   | settings, as variables:  | none       | as STATUS. -EALREADY: a mode is on; -EINVAL: a   |
 * |         | "CPUPROFILE=/tmp/a.pb";  |            | setting is bad, or none is a mode's; -EBUSY: the |
 * |         | "nofile=1": no file is   |            | program starts or stops something; or the error  |
 * |         | written, whatever path;  |            | of the path or the kernel                        |
 * |         | "for_ns=N": ends then    |            |                                                  |
 * | STOP    | "mode=cpu"; "discard=1": | none       | the status before it. -ESRCH: the mode isn't on; |
 * |         | no file is written       |            | -EBUSY; -EOPNOTSUPP; or the error of the write   |
 * | DUMP    | "mode=cpu,heap,peak":    | of a memfd | The descriptor gets the profiles of one moment,  |
 * |         | modes and companions;    |            | one after the other: "cpu.bytes=N" is the length |
 * |         | "last_ns=N": the end     |            | of each, in the request's order; those that      |
 * |         |                          |            | aren't on are left out. -ESRCH: none is on;      |
 * |         |                          |            | -EINVAL: a mode is unknown, as all lists are to  |
 * |         |                          |            | older libraries; or the descriptor is none of a  |
 * |         |                          |            | file in memory                                   |
 * | WINDOW  | "mode=lock,holders": a   | of a memfd | "end=T", to be SINCE of the next request. The    |
 * |         | mode and companions of   | for the    | descriptor gets what happened since the last     |
 * |         | it, or only a companion; | profiles,  | window, as DUMP, not compressed. The result is   |
 * |         | "consumer=N": a number   | or none    | that of the first: -ESRCH: it isn't on; -EINVAL, |
 * |         | that the client draws,   |            | as DUMP; -EUSERS: too many                       |
 * |         | not 0;                   |            | consumers; -ESTALE: the consumer wasn't known;   |
 * |         | "do=begin": the window   |            | it is now, its window begins now, and nothing is |
 * |         | begins now; "do=all": it |            | written.                                         |
 * |         | began with the mode;     |            | If the mode began after SINCE, the               |
 * |         | "do=end": forget the     |            | window is all its time: that is no error.        |
 * |         | consumer;                |            |                                                  |
 * |         | "last=1": it listens for |            | "ending=1": the process has written its files    |
 * |         | what is left at the end; |            |                                                  |
 * |         | "for_ns=N": forget it    |            | A mode without a file (START, "nofile=1") ends   |
 * |         | then; "since=T"          |            | with its last consumer, or its for_ns            |
 * | SET     | "mode=cpu"; settings,    | none       | the status before it, then                       |
 * |         | as variables:            |            | "set=KEY=VALUE, before: VALUE" for each; -ESRCH: |
 * |         | "CPUPROFILE_FREQUENCY=1" |            | the mode isn't on; -ERANGE: a value is bad,      |
 * |         |                          |            | "why=" says what is accepted; -EINVAL: none is a |
 * |         |                          |            | setting of the mode that can be changed; -EBUSY; |
 * |         |                          |            | -EOPNOTSUPP: this change needs a new start       |
 * | DETACH  | none                     | none       | none: the modes are off, with their files, and   |
 * |         |                          |            | the program's calls no longer caught. -ESRCH:    |
 * |         |                          |            | the process isn't attached; -EOPNOTSUPP: a mode  |
 * |         |                          |            | can't be ended from outside; -EBUSY              |
 * | THREADS | none                     | of a memfd | none. The descriptor gets a profile with one     |
 * |         |                          |            | sample for each thread: session/session.h    |
 */
/* clang-format on */
enum cp_control_request {
	CP_CONTROL_STATUS = 1,
	CP_CONTROL_START,
	CP_CONTROL_STOP,
	CP_CONTROL_DUMP,
	CP_CONTROL_WINDOW,
	CP_CONTROL_THREADS,
	CP_CONTROL_SET,
	CP_CONTROL_DETACH,
	CP_CONTROL_REQUESTS /* number of requests */
};

struct cp_control_message {
	uint32_t magic;
	uint16_t version;
	uint16_t request; /* enum cp_control_request; a reply repeats it */
	int32_t result;	  /* in a reply: 0 or a negative errno; in a request: 0 */
	uint32_t size;	  /* bytes of TEXT that follow */
	char text[CP_CONTROL_TEXT];
};

#define CP_CONTROL_HEADER offsetof(struct cp_control_message, text)

#endif
