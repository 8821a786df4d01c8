/* For the files that define functions of libc in its place.
 *
 * Such a function is exported without a version, so that it answers every version of the
 * reference; it forwards to CP_REAL(name) and adds as little as it can.
 */
#ifndef CP_INTERPOSE_H
#define CP_INTERPOSE_H

#define INTERPOSE __attribute__((visibility("default")))

/* The program makes a thread: init.c. */
void init_watch_exit(void);
/* In the constructor: credentials.c. */
void init_credentials(void);

#endif
