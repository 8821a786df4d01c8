/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies of workers; see serve.h. */
#include <stdarg.h>
#include <unistd.h>

#include "serve/serve.h"

void ct_serve_reply_set(struct ct_serve_reply *reply, unsigned status, const char *type,
			const char *file)
{
	reply->status = status;
	snprintf(reply->type, sizeof(reply->type), "%s", type);
	snprintf(reply->file, sizeof(reply->file), "%s", file);
	reply->error = false;
}

void ct_serve_reply_fail(struct ct_serve_out *out, unsigned status, const char *fmt, ...)
{
	va_list args;

	ct_serve_reply_set(out->reply, status, CT_SERVE_PLAIN, "");
	out->reply->error = true;
	rewind(out->body);
	if (ftruncate(fileno(out->body), 0))
		return;
	va_start(args, fmt);
	vfprintf(out->body, fmt, args);
	va_end(args);
	fputc('\n', out->body);
}
