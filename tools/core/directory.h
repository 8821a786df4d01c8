/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories of the tool's own files. */
#ifndef CT_DIRECTORY_H
#define CT_DIRECTORY_H

/* Makes directory PATH, and those above it, for the user alone. Returns 0 or a negative errno. */
int ct_directory_make(const char *path);

#endif
