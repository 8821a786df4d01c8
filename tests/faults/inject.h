/* SPDX-License-Identifier: BSD-3-Clause */
/* The fault injector's parts: inject.c traces and injects, inject_place.c says where in the
 * library a call comes from, inject_names.c has the names. Test programs only; x86_64.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLACE_MAX 4

/* The library's code in a process: where it is mapped, from where in the file. All 0: not found. */
struct place_map {
	uint64_t start, end, offset;
};

/* Functions of the library on the way to a call, innermost first. */
struct place {
	const char *functions[PLACE_MAX];
	unsigned count;
	bool direct; /* the call's instruction is the library's own, not libc's for it */
};

/* Read the library's symbols. 0, or -1 with a message. */
int place_load(const char *library);
/* Where TID has the library. */
struct place_map place_find(pid_t tid);
/* For a call at IP with SP; the first pages of the stack decide. */
struct place place_of(pid_t tid, const struct place_map *m, uint64_t ip, uint64_t sp);
/* The call was made for the library's own sake, not by an interposed function that passes the
 * program's call on. */
bool place_is_own(const struct place *p);

/* A call's number here, below NAMES_CALLS_MAX; that number itself means an unknown call. */
#define NAMES_CALLS_MAX 96
size_t names_call(uint64_t number);
const char *names_of_call(size_t call);
/* "ENOMEM": its number, or 0. */
int names_error(const char *name);

#endif
