/* From a drained run to a file: name, encode, write under the right name.
 *
 * Every function runs under the collector's lock, in whatever context holds it. A companion is
 * written only when it has something to show.
 */
#ifndef CP_DUMP_H
#define CP_DUMP_H

#include "config.h"
#include "run.h"
#include "sink.h"

/* To the run's own path: the file at exit, of a checkpoint, before exec. A
 * process that isn't the owner writes only when it has samples. WHEN is for messages
 * ("at exit"). 0, or a negative errno, which has been said on stderr once. */
int cp_dump_final(struct cp_run *r, const struct cp_config *c, const char *when);
/* The path of the file that cp_dump_final wrote last. 0, or -ENOENT: none was. */
int cp_dump_written_path(const struct cp_run *r, char *to, size_t size);
/* To the next numbered file. */
int cp_dump_numbered(struct cp_run *r, const struct cp_config *c);
/* To a path of the caller's choice, or to any sink that doesn't wait: nothing is said. */
int cp_dump_to_path(struct cp_run *r, const struct cp_config *c, const char *path);
int cp_dump_to_sink(struct cp_run *r, const struct cp_config *c, struct cp_sink *sink);

#endif
