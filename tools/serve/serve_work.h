/* SPDX-License-Identifier: BSD-3-Clause */
/* What workers do; each function writes the reply of one request. Called by serve_work.c. */
#ifndef CT_SERVE_WORK_H
#define CT_SERVE_WORK_H

#include "core/model.h"
#include "serve/serve.h"

/* serve_profile.c */
void ct_serve_profile(const struct ct_serve_request *r, struct ct_serve_out *out);
/* Adds lines to P, from the files of process PID as it sees them. */
void ct_serve_profile_symbolize(struct ct_profile *p, int pid);

/* serve_text.c: P as net/http/pprof writes it with ?debug=1. */
void ct_serve_text(const struct ct_profile *p, const struct ct_serve_kind *k, FILE *to);

/* serve_threads.c: where every thread is now, as Go serves its goroutines. */
void ct_serve_threads(const struct ct_serve_request *r, struct ct_serve_out *out);

/* serve_flame.c: the page of `cprof flame` for P. */
void ct_serve_flame(struct ct_profile *p, const char *title, FILE *to);

/* serve_process.c: what needs no profile. */
void ct_serve_process_index(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_process_cmdline(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_process_symbol(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_process_threadcreate(const struct ct_serve_request *r, struct ct_serve_out *out);

/* serve_list.c, serve_metrics.c: all processes. */
void ct_serve_list_resolve(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_list_home(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_list_targets(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_metrics(const struct ct_serve_request *r, struct ct_serve_out *out);

#endif
