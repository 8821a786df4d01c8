/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recorded call was made on: a path, or the address of a socket's peer. Paths and addresses
 * are personal data, so they are kept only if CPROF_IO_TARGET allows it. Each text is kept once, in
 * the store of label sets, whose limit holds for them, too.
 */
#ifndef CP_IO_TARGET_H
#define CP_IO_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/io/signal/io_event.h"

/* How much of a path or an address is kept, in the order of the setting's names. */
enum cp_io_target { CP_IO_TARGET_NONE, CP_IO_TARGET_LAST, CP_IO_TARGET_FULL };

/* Return the number of the target of C, at most 2^24 - 1, as ALLOWED (enum cp_io_target) says; 0:
 * none. Any context. */
uint32_t cp_io_target_of(const struct cp_io_call *c, int allowed);
/* Return the text of a number that isn't 0. */
const char *cp_io_target_text(uint32_t number);

#define CP_IO_TARGET_TEXT 512 /* room for any target */
/* Write the peer of the internet socket FD to TO: "10.0.0.1:443", "[2001:db8:0:0:0:0:0:1]:443";
 * LAST: ":443". Returns false if it has none. Any context. */
bool cp_io_target_peer(char *to, int fd, bool last);
/* Return the last component of the path TEXT. */
const char *cp_io_target_last(const char *text);

#endif
