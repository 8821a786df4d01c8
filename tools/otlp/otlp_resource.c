/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile tells of its process, under the names of OpenTelemetry's conventions; see otlp.h.
 *
 * A comment "resource: service.name=shop" is what the program's own SDK says, and comes before what
 * is guessed from the program's name.
 */
#include <stdlib.h>
#include <string.h>

#include "otlp/otlp.h"

#include "core/times.h"

static const char *const told[] = {
	"service.name",
	"service.version",
	"service.namespace",
	"service.instance.id",
	"deployment.environment.name",
	"host.name",
	"container.id",
	"k8s.pod.name",
	"k8s.namespace.name",
};

static const char *comment(const struct ct_profile *p, const char *begin, const char *key)
{
	size_t before = strlen(begin), n = strlen(key);

	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i);

		if (!strncmp(text, begin, before) && !strncmp(text + before, key, n))
			return text + before + n;
	}
	return NULL;
}

static const char *resource(const struct ct_profile *p, const char *key)
{
	const char *is = comment(p, "resource: ", key);

	return is && *is == '=' && is[1] ? is + 1 : NULL;
}

static size_t add_attribute(struct ct_otlp_attribute *to, size_t n, const char *key,
			    const char *text)
{
	if (!text || !*text)
		return n;
	to[n] = (struct ct_otlp_attribute){ key, text, 0 };
	return n + 1;
}

size_t ct_otlp_resource(const struct ct_profile *p, struct ct_otlp_attribute *to)
{
	const char *path = p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
	const char *name = ct_base_name(path);
	int64_t pid = ct_times_join_process(p);
	size_t n = 0;

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		n = add_attribute(to, n, told[i], resource(p, told[i]));
	if (!resource(p, "service.name"))
		n = add_attribute(to, n, "service.name", name);
	n = add_attribute(to, n, "process.executable.name", name);
	n = add_attribute(to, n, "process.executable.path", path);
	if (!pid)
		return n;
	to[n++] = (struct ct_otlp_attribute){ "process.pid", NULL, pid };
	return add_attribute(to, n, "os.type", "linux");
}
