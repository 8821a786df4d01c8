/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of `cprof serve`. */
#ifndef CT_SERVE_HTML_H
#define CT_SERVE_HTML_H

#include <stdio.h>

/* Everything up to the body's first element; TITLE is plain text without markup. */
void ct_serve_html_begin(FILE *to, const char *title);
/* The same for the page of processes, whose body is laid out over the whole window. */
void ct_serve_html_begin_home(FILE *to, const char *title);
void ct_serve_html_end(FILE *to);
/* The script of the page of processes. */
void ct_serve_html_script(FILE *to);
/* Text that may hold anything. */
void ct_serve_html_text(FILE *to, const char *text);

/* The files of tools/serve/page/ as text, ended by NULL; made by tools/flame/page/embed.sh. */
extern const char *const ct_serve_style[];
extern const char *const ct_serve_script[];

#endif
