/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of ops, kinds and errors, as they are in labels and comments. */
#ifndef CP_IO_NAMES_H
#define CP_IO_NAMES_H

#include <stddef.h>

const char *cp_io_names_op(unsigned op);
/* "" for CP_IO_NOTHING. */
const char *cp_io_names_kind(unsigned kind);
/* "ENOENT"; for a number without a well-known name the number, in BUFFER. */
const char *cp_io_names_error(unsigned error, char *buffer, size_t size);

#endif
