/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile tells of its process, under the names of OpenTelemetry's conventions; see otlp.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cp-build.h"
#include "core/notes.h"
#include "otlp/otlp.h"

/* The comment "libcprof 1.0, mode cpu, pid 123, Linux ...". */
static int64_t process_id(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i), *pid;

		if (strncmp(text, "libcprof ", 9) != 0)
			continue;
		pid = strstr(text, ", pid ");
		return pid ? atoll(pid + 6) : 0;
	}
	return 0;
}

size_t ct_otlp_resource(const struct ct_profile *p, struct ct_otlp_attribute *to)
{
	const char *path = p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int64_t pid = process_id(p);
	size_t n = 0;

	if (*name) {
		to[n++] = (struct ct_otlp_attribute){ "service.name", name, 0 };
		to[n++] = (struct ct_otlp_attribute){ "process.executable.name", name, 0 };
		to[n++] = (struct ct_otlp_attribute){ "process.executable.path", path, 0 };
	}
	if (!pid)
		return n;
	to[n++] = (struct ct_otlp_attribute){ "process.pid", NULL, pid };
	to[n++] = (struct ct_otlp_attribute){ "os.type", "linux", 0 };
	return n;
}
