/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps that a later request subtracts: of a client that asks for deltas, and of the last minute
 * of a flame graph. Called by serve_http.c. Times are monotonic seconds.
 */
#ifndef CT_SERVE_STORE_H
#define CT_SERVE_STORE_H

/* At most so many, of so many bytes together; the oldest are dropped. */
#define CT_SERVE_STORED 256
#define CT_SERVE_STORED_BYTES ((long long)256 << 20)
/* A client that does not come back. */
#define CT_SERVE_STORED_SECONDS 900

/* Returns the newest dump of KEY that is at least AT_LEAST seconds old, or else the oldest one; -1:
 * there is none, or none younger than AT_MOST. It stays in the store. */
int ct_serve_store_find(const char *key, double now, double at_least, double at_most);
/* Puts dump FD, which is closed when it is dropped. ALONE: it replaces the others of KEY. */
void ct_serve_store_put(const char *key, double now, int fd, int alone);

#endif
