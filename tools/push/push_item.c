/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs, splits, saves and loads profiles that are to be sent; see push.h.
 *
 * A file of the spool is a head of lines, an empty line, and the profile:
 *
 *     cprof-push 1
 *     series process_cpu
 *     from 1700000000000000000
 *     until 1700000015000000000
 *     samples 812
 *     size 20480
 *     label service_name=app
 */
#include "push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/times.h"

#define MAGIC "cprof-push 1"
#define LABELS_MAX ((size_t)1 << 20)
#define SIZE_MAX_BYTES ((size_t)1 << 30)

static char *pack_profile(const struct ct_profile *p, size_t *size)
{
	char *data = NULL;
	FILE *to = open_memstream(&data, size);
	int error = to ? ct_write(p, to) : -ENOMEM;

	if (to && fclose(to))
		error = -ENOMEM;
	if (!error)
		return data;
	free(data);
	return NULL;
}

struct ct_push_item *ct_push_item_new(const char *series, const char *labels, int64_t from_ns,
				      int64_t until_ns, const struct ct_profile *p)
{
	struct ct_push_item *item = ct_memory_alloc(sizeof(*item));

	item->series = ct_memory_strdup(series);
	item->labels = ct_memory_strdup(labels);
	item->from_ns = from_ns;
	item->until_ns = until_ns;
	item->samples = p->sample_count;
	item->data = pack_profile(p, &item->size);
	if (item->data)
		return item;
	ct_push_item_free(item);
	return NULL;
}

void ct_push_item_free(struct ct_push_item *item)
{
	if (!item)
		return;
	free(item->series);
	free(item->labels);
	free(item->data);
	free(item);
}

size_t ct_push_item_unpacked(const struct ct_push_item *item)
{
	const unsigned char *end = (const unsigned char *)item->data + item->size;

	/* The unpacked size is in gzip's last four bytes. */
	if (item->size < 18)
		return item->size;
	return end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

struct ct_profile *ct_push_item_profile(const struct ct_push_item *item)
{
	struct ct_input *in = ct_input_memory(item->data, item->size);
	struct ct_profile *p = NULL;
	struct ct_fault fault;
	int error = ct_read(&p, in, &fault);

	ct_input_close(in);
	return error ? NULL : p;
}

/* Returns an item with COUNT samples of ITEM, from FIRST on. */
static struct ct_push_item *part(const struct ct_push_item *item, size_t first, size_t count)
{
	struct ct_profile *p = ct_push_item_profile(item), *some;
	struct ct_push_item *made = NULL;

	if (!p)
		return NULL;
	ct_times_drop(p); /* its events are of all samples */
	memmove(p->samples, p->samples + first, count * sizeof(*p->samples));
	memmove(p->values, p->values + first * p->type_count,
		count * p->type_count * sizeof(*p->values));
	p->sample_count = count;
	some = ct_combine(&p, 1);
	if (some)
		made = ct_push_item_new(item->series, item->labels, item->from_ns, item->until_ns,
					some);
	ct_model_free(some);
	ct_model_free(p);
	return made;
}

int ct_push_item_halve(const struct ct_push_item *item, struct ct_push_item **first,
		       struct ct_push_item **second)
{
	size_t half = item->samples / 2;

	if (!half)
		return -1;
	*first = part(item, 0, half);
	*second = part(item, half, item->samples - half);
	if (*first && *second)
		return 0;
	ct_push_item_free(*first);
	ct_push_item_free(*second);
	return -1;
}

/* ---- files ---- */

static void save_label(const char *key, const char *value, void *to)
{
	fprintf(to, "label %s=%s\n", key, value);
}

int ct_push_item_save(const struct ct_push_item *item, FILE *to)
{
	fprintf(to, MAGIC "\nseries %s\nfrom %" PRId64 "\nuntil %" PRId64 "\n", item->series,
		item->from_ns, item->until_ns);
	fprintf(to, "samples %zu\nsize %zu\n", item->samples, item->size);
	ct_push_item_each_label(item, save_label, to);
	fputc('\n', to);
	if (fwrite(item->data, 1, item->size, to) != item->size || fflush(to) || ferror(to))
		return errno ? -errno : -EIO;
	return 0;
}

/* If LINE begins with WORD and a blank, returns the rest. */
static const char *after(const char *line, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(line, word, n) && line[n] == ' ' ? line + n + 1 : NULL;
}

static void load_line(struct ct_push_item *item, const char *line, size_t *room)
{
	const char *rest;
	size_t used = item->labels ? strlen(item->labels) : 0, n;

	if ((rest = after(line, "series")) && !item->series)
		item->series = ct_memory_strdup(rest);
	else if ((rest = after(line, "from")))
		item->from_ns = strtoll(rest, NULL, 10);
	else if ((rest = after(line, "until")))
		item->until_ns = strtoll(rest, NULL, 10);
	else if ((rest = after(line, "samples")))
		item->samples = strtoull(rest, NULL, 10);
	else if ((rest = after(line, "size")))
		item->size = strtoull(rest, NULL, 10);
	else if ((rest = after(line, "label")) && strchr(rest, '=') && used < LABELS_MAX) {
		n = strlen(rest);
		item->labels = ct_memory_grow(item->labels, room, used + n + 2, 1);
		memcpy(item->labels + used, rest, n);
		memcpy(item->labels + used + n, "\n", 2);
	}
}

static int load_head(struct ct_push_item *item, FILE *from)
{
	char *line = NULL;
	size_t line_room = 0, room = 0;
	ssize_t n = getline(&line, &line_room, from);
	int lines = 0, whole = 0;

	if (n < 0 || strcmp(line, MAGIC "\n")) {
		free(line);
		return -1;
	}
	while (!whole && lines++ < 1000 && (n = getline(&line, &line_room, from)) > 0) {
		if (line[n - 1] == '\n')
			line[--n] = '\0';
		whole = !n;
		if (n)
			load_line(item, line, &room);
	}
	free(line);
	if (!item->labels)
		item->labels = ct_memory_strdup("");
	return whole && item->series && item->size && item->size <= SIZE_MAX_BYTES ? 0 : -1;
}

struct ct_push_item *ct_push_item_load(FILE *from)
{
	struct ct_push_item *item = ct_memory_alloc(sizeof(*item));

	if (!load_head(item, from)) {
		item->data = ct_memory_alloc(item->size);
		if (fread(item->data, 1, item->size, from) == item->size && fgetc(from) == EOF)
			return item;
	}
	ct_push_item_free(item);
	return NULL;
}

/* ---- labels ---- */

void ct_push_item_each_label(const struct ct_push_item *item,
			     void (*see)(const char *key, const char *value, void *arg), void *arg)
{
	char *all = ct_memory_strdup(item->labels), *rest = all, *line;

	while ((line = strtok_r(rest, "\n", &rest))) {
		char *equals = strchr(line, '=');

		if (!equals)
			continue;
		*equals = '\0';
		see(line, equals + 1, arg);
	}
	free(all);
}

struct wanted {
	const char *key;
	char *value;
};

static void look_at_pair(const char *key, const char *value, void *arg)
{
	struct wanted *w = arg;

	if (!w->value && !strcmp(key, w->key))
		w->value = ct_memory_strdup(value);
}

char *ct_push_item_label(const struct ct_push_item *item, const char *key)
{
	struct wanted w = { key, NULL };

	ct_push_item_each_label(item, look_at_pair, &w);
	return w.value;
}
