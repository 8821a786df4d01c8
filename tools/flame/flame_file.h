/* SPDX-License-Identifier: BSD-3-Clause */
/* Text files that flame, folded and convert write, as a whole or not at all. They have mode 0600
 * like profiles (target.h), because they contain names, paths and labels. */
#ifndef CT_FLAME_FILE_H
#define CT_FLAME_FILE_H

#include <stdio.h>

typedef void ct_flame_writer(const void *what, FILE *to);

/* WRITE writes WHAT to PATH; NULL or "-" is stdout. Returns CT_OK, or CT_FAILED after an error
 * message. */
int ct_flame_file(const char *path, ct_flame_writer *write, const void *what);

#endif
