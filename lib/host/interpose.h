/* SPDX-License-Identifier: BSD-3-Clause */
/* Common definitions for the files that replace functions of libc.
 *
 * An interposed function is exported without a version, so it answers every version of the
 * reference. It forwards to CP_REAL(name) and adds as little as possible.
 */
#ifndef CP_INTERPOSE_H
#define CP_INTERPOSE_H

#define INTERPOSE __attribute__((visibility("default")))

/* Declared by <unistd.h> since glibc 2.34. */
int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);

/* Call when the program makes a thread (preload/init.c). */
void init_watch_exit(void);
/* Call in the constructor, before the session begins (new.c, credentials.c). The loader's
 * allocations for them are then in no profile. */
void init_operators(void);
void init_credentials(void);

#endif
