/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows a file in the desktop's browser. Used by run_show.c. */
#ifndef CT_BROWSER_H
#define CT_BROWSER_H

/* Passes FILE to xdg-open and doesn't wait. If xdg-open can't be started, a message on stderr says
 * so. */
void ct_browser_open(const char *file);

#endif
