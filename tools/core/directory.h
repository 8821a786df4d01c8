/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories of the tool's own files. */
#ifndef CT_DIRECTORY_H
#define CT_DIRECTORY_H

/* Makes directory PATH, and those above it, for the user alone. Returns 0 or a negative errno. */
int ct_directory_make(const char *path);
/* The same, and -EPERM if others could put anything there: PATH must be a directory of this
 * user's that nobody else may write to. Those above it must be this user's or root's, and
 * nobody else may exchange what is in them. */
int ct_directory_make_own(const char *path);
/* The same check of a directory that is not made. */
int ct_directory_is_own(const char *path);

#endif
