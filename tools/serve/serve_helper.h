/* SPDX-License-Identifier: BSD-3-Clause */
/* The helper that the library starts for CPROF_SERVE=ADDRESS. Called by serve.c. */
#ifndef CT_SERVE_HELPER_H
#define CT_SERVE_HELPER_H

/* Runs SERVE, in a child, for all processes that ask for ADDRESS, until the last of them has ended.
 * Returns at once if another helper does that. Returns the exit status. */
int ct_serve_helper(const char *address, int (*serve)(const char *address));

#endif
