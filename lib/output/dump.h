/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a drained run to a file: finds the name, encodes, and puts the file under that name.
 *
 * Call every function with the collector's lock held, in any context that can hold the lock. A
 * companion is written only if it has something to show.
 */
#ifndef CP_DUMP_H
#define CP_DUMP_H

#include "settings/config.h"
#include "output/run.h"
#include "output/sink.h"

/* Write to the run's own path: at exit, at a checkpoint, before exec. A process that isn't the
 * owner writes only if it has samples. WHEN is for messages ("at exit"). Returns 0, or a negative
 * errno after reporting the error once on stderr. */
int cp_dump_final(struct cp_run *r, const struct cp_config *c, const char *when);
/* Copy the path of the file that cp_dump_final wrote last to TO. Returns 0, or -ENOENT if no file
 * was written. */
int cp_dump_written_path(const struct cp_run *r, char *to, size_t size);
/* Copy the path that cp_dump_final writes next to TO. Returns 0 or -ENAMETOOLONG. Any context; the
 * lock is not needed. */
int cp_dump_path(const struct cp_run *r, char *to, size_t size);
/* Write to the next numbered file. REASON goes into its comments; NULL: no reason is given. */
int cp_dump_numbered(struct cp_run *r, const struct cp_config *c, const char *reason);
/* Removes the file of R's dump NUMBER. */
void cp_dump_remove(const struct cp_run *r, unsigned number);
/* Write to a path that the caller chose, or to any sink that doesn't wait. Prints no messages. */
int cp_dump_to_path(struct cp_run *r, const struct cp_config *c, const char *path);
int cp_dump_to_sink(struct cp_run *r, const struct cp_config *c, struct cp_sink *sink);
/* Write the window of W, a consumer of R, uncompressed: compressing would take more time than all
 * the rest, and the reader is on this machine. The window is then to be confirmed; see
 * consumers.h. */
int cp_dump_window(struct cp_run *r, struct cp_consumer *w, const struct cp_config *c,
		   struct cp_sink *sink);
/* Begin a window of W now; nothing is written of the time before. Returns 0 or -ENOMEM. */
int cp_dump_begin_window(struct cp_run *r, struct cp_consumer *w);

#endif
