/* SPDX-License-Identifier: BSD-3-Clause */
/* Where every thread is now, as Go serves its goroutines; runs in a worker. No mode is needed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "serve/serve.h"

static struct ct_profile *ask_threads(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	struct cp_control_message m;
	struct ct_profile *p = NULL;
	char *why;
	int err;

	ct_control_request(&m, CP_CONTROL_THREADS);
	err = ct_control_profile_ask(r->route.pid, &m, &p, &why);
	if (err)
		ct_serve_reply_fail(out, ct_control_has_ended(r->route.pid) ? 404 : 500,
				    "process %d: %s", r->route.pid, why ? why : strerror(-err));
	free(why);
	return p;
}

/* Returns P with the threads at the same place joined in one row, or NULL. Frees P. */
static struct ct_profile *joined_threads(struct ct_profile *p)
{
	struct ct_regex *own = ct_regex_new(
		"labels", "^(thread|tid|syscall|lock|holder|readers|joined|deadlock|child|"
			  "child_name|fd|target|descriptors)$");
	struct ct_profile *whole;

	ct_model_strip_labels(p, own, NULL);
	ct_regex_free(own);
	whole = ct_combine(&p, 1);
	ct_model_free(p);
	return whole;
}

static void name_as_go(struct ct_profile *p)
{
	p->types[0].type = ct_model_string(p, "goroutine");
	p->period_type = p->types[0];
	p->period = 1;
}

/* ---- debug=2: each thread by itself ---- */

/* ALL: COUNT threads. */
static void put_heading(const struct ct_thread_wait *t, const struct ct_thread_wait *all,
			size_t count, FILE *to)
{
	char *wait = ct_thread_wait_text(t, all, count);

	fprintf(to, "goroutine %" PRId64 " [%s", t->tid, t->state);
	if (wait) {
		fputc(' ', to);
		ct_out_text(to, wait);
	}
	fputs(t->deadlock > 0 ? ", in a deadlock, " : ", ", to);
	ct_out_text(to, t->name);
	fputs("]:\n", to);
	free(wait);
}

static void put_frame(const struct ct_profile *p, const struct ct_location *l,
		      const struct ct_line *line, FILE *to)
{
	const struct ct_function *f =
		line && line->function != CT_NONE ? &p->functions[line->function] : NULL;
	const char *file = l->mapping == CT_NONE ? "?" : ct_text(p, p->mappings[l->mapping].file);

	ct_out_text(to, f ? ct_text(p, f->name) : "?");
	fputs("(...)\n\t", to);
	if (f && *ct_text(p, f->filename)) {
		ct_out_text(to, ct_text(p, f->filename));
		fprintf(to, ":%" PRId64 "\n", line->line);
	} else {
		ct_out_text(to, file);
		fprintf(to, " 0x%" PRIx64 "\n", l->address);
	}
}

static void put_threads(const struct ct_profile *p, FILE *to)
{
	struct ct_thread_wait *all = ct_memory_alloc((p->sample_count + 1) * sizeof(*all));

	for (size_t i = 0; i < p->sample_count; i++)
		all[i] = ct_thread_wait_of(p, &p->samples[i]);
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];

		put_heading(&all[i], all, p->sample_count, to);
		for (uint32_t d = 0; d < s->depth; d++) {
			const struct ct_location *l = &p->locations[ct_frames(p, s)[d]];

			/* The placeholder for a running thread has no address. */
			for (uint32_t n = 0; l->address && n < l->line_count; n++)
				put_frame(p, l, &p->lines[l->first_line + n], to);
			if (l->address && !l->line_count)
				put_frame(p, l, NULL, to);
		}
		fputc('\n', to);
	}
	free(all);
}

void ct_serve_threads(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	static const struct ct_serve_kind kind = { .name = "goroutine",
						   .mode = "",
						   .dump = "threads" };
	struct ct_profile *p = ask_threads(r, out);

	if (!p)
		return;
	ct_serve_profile_symbolize(p, r->route.pid);
	if (r->debug < 2)
		p = joined_threads(p);
	if (!p) {
		ct_serve_reply_fail(out, 500, "the threads can't be joined");
		return;
	}
	name_as_go(p);
	ct_serve_reply_set(out->reply, 200, r->debug ? CT_SERVE_PLAIN : CT_SERVE_BINARY,
			   r->debug ? "" : "goroutine");
	if (r->debug >= 2)
		put_threads(p, out->body);
	else if (r->debug)
		ct_serve_text(p, &kind, out->body);
	else if (ct_write(p, out->body))
		ct_serve_reply_fail(out, 500, "the profile can't be written");
	ct_model_free(p);
}
