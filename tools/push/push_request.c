/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes requests; see push.h.
 *
 * Pyroscope's messages are small, so they are written from their field numbers here
 * (push/v1/push.proto: PushRequest.series = 1; RawProfileSeries.labels = 1, samples = 2;
 * LabelPair.name = 1, value = 2; RawSample.raw_profile = 1, ID = 2).
 */
#include "push/push.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "otlp/otlp.h"

#define BOUNDARY_SIZE 33

struct bytes {
	char *data;
	size_t size;
	FILE *to;
};

static void open_bytes(struct bytes *b)
{
	*b = (struct bytes){ 0 };
	b->to = open_memstream(&b->data, &b->size);
	if (!b->to)
		ct_memory_realloc(NULL, SIZE_MAX, 1); /* ends the program with a message */
}

/* Makes a random name of hexadecimal digits, for a boundary or a profile. */
static void random_name(char to[BOUNDARY_SIZE])
{
	unsigned char random[(BOUNDARY_SIZE - 1) / 2] = { 0 };

	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
		clock_gettime(CLOCK_MONOTONIC, (struct timespec *)random);
	for (size_t i = 0; i < sizeof(random); i++)
		sprintf(to + 2 * i, "%02x", random[i]);
}

/* Makes a label name of letters, digits and "_", as Pyroscope and Parca require. */
static void plain_key(char *to, size_t size, const char *key)
{
	size_t i = 0;

	for (; key[i] && i + 1 < size; i++)
		to[i] = isalnum((unsigned char)key[i]) ? key[i] : '_';
	to[i] = '\0';
}

#define KEY_MAX 256

/* ---- Pyroscope: push.v1 ---- */

static void put_varint(FILE *to, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		fputc((int)(n & 0x7f) | 0x80, to);
	fputc((int)n, to);
}

static void put_field(FILE *to, unsigned number, const void *data, size_t size)
{
	put_varint(to, number << 3 | 2);
	put_varint(to, size);
	fwrite(data, 1, size, to);
}

static void put_pair(FILE *to, const char *name, const char *value)
{
	struct bytes pair;

	open_bytes(&pair);
	put_field(pair.to, 1, name, strlen(name));
	put_field(pair.to, 2, value, strlen(value));
	fclose(pair.to);
	put_field(to, 1, pair.data, pair.size);
	free(pair.data);
}

static void put_label(const char *key, const char *value, void *to)
{
	char name[KEY_MAX];

	plain_key(name, sizeof(name), key);
	put_pair(to, name, value);
}

static void put_series(FILE *to, const struct ct_push_item *item)
{
	struct bytes series, sample;
	char id[BOUNDARY_SIZE], uuid[48];

	random_name(id);
	snprintf(uuid, sizeof(uuid), "%.8s-%.4s-4%.3s-a%.3s-%.12s", id, id + 8, id + 13, id + 17,
		 id + 20);
	open_bytes(&sample);
	put_field(sample.to, 1, item->data, item->size);
	put_field(sample.to, 2, uuid, strlen(uuid));
	fclose(sample.to);
	open_bytes(&series);
	put_pair(series.to, "__name__", item->series);
	/* Otherwise Pyroscope takes the values for sums since the process's start, and subtracts
	 * each from the next. */
	put_pair(series.to, "__delta__", "false");
	ct_push_item_each_label(item, put_label, series.to);
	put_field(series.to, 2, sample.data, sample.size);
	fclose(series.to);
	put_field(to, 1, series.data, series.size);
	free(sample.data);
	free(series.data);
}

static void make_pyroscope(struct ct_push_request *r, FILE *to, struct ct_push_item *const *items,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_series(to, items[i]);
	r->type = ct_memory_strdup("application/proto");
	r->header = "Connect-Protocol-Version: 1";
}

/* ---- Parca: WriteRaw ---- */

static void put_base64(FILE *to, const char *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)data;

	for (; size >= 3; s += 3, size -= 3) {
		fputc(digits[s[0] >> 2], to);
		fputc(digits[(s[0] & 3) << 4 | s[1] >> 4], to);
		fputc(digits[(s[1] & 15) << 2 | s[2] >> 6], to);
		fputc(digits[s[2] & 63], to);
	}
	if (!size)
		return;
	fputc(digits[s[0] >> 2], to);
	fputc(digits[(s[0] & 3) << 4 | (size == 2 ? s[1] >> 4 : 0)], to);
	fputc(size == 2 ? digits[(s[1] & 15) << 2] : '=', to);
	fputc('=', to);
}

static void put_json_label(const char *key, const char *value, void *to)
{
	char name[KEY_MAX];

	plain_key(name, sizeof(name), key);
	fprintf(to, ",{\"name\":\"%s\",\"value\":", name);
	ct_json_quote(to, value);
	fputc('}', to);
}

static void make_parca(struct ct_push_request *r, FILE *to, struct ct_push_item *const *items,
		       size_t count)
{
	fputs("{\"series\":[", to);
	for (size_t i = 0; i < count; i++) {
		fprintf(to, "%s{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"%s\"}",
			i ? "," : "", items[i]->series);
		ct_push_item_each_label(items[i], put_json_label, to);
		fputs("]},\"samples\":[{\"rawProfile\":\"", to);
		put_base64(to, items[i]->data, items[i]->size);
		fputs("\"}]}", to);
	}
	fputs("],\"normalized\":false}", to);
	r->type = ct_memory_strdup("application/json");
}

/* ---- bodies of several parts ---- */

static void put_part(FILE *to, const char *boundary, const char *name, const char *file,
		     const char *type)
{
	fprintf(to,
		"--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		"Content-Type: %s\r\n\r\n",
		boundary, name, file, type);
}

static void end_parts(struct ct_push_request *r, FILE *to, const char *boundary)
{
	fprintf(to, "--%s--\r\n", boundary);
	r->type = ct_memory_printf("multipart/form-data; boundary=%s", boundary);
}

/* ---- Pyroscope: /ingest ---- */

static void put_escaped(FILE *to, const char *s)
{
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || strchr("-._~", *s))
			fputc(*s, to);
		else
			fprintf(to, "%%%02X", (unsigned char)*s);
}

struct name {
	FILE *to;
	unsigned count;
};

static void put_tag(const char *key, const char *value, void *arg)
{
	struct name *n = arg;
	char name[KEY_MAX], *text, *c;

	if (!strcmp(key, "service_name"))
		return;
	plain_key(name, sizeof(name), key);
	text = ct_memory_printf("%s%s=%s", n->count++ ? "," : "", name, value);
	for (c = text + (n->count > 1); *c; c++)
		if (strchr("{},", *c))
			*c = '_';
	put_escaped(n->to, text);
	free(text);
}

/* Returns the configuration of sample types; without it, the receiver knows only those of its own
 * clients. */
static const char *type_config(const char *series)
{
	if (!strcmp(series, "block"))
		return "{\"contentions\":{\"display-name\":\"block_count\",\"units\":\"lock_"
		       "samples\"},"
		       "\"delay\":{\"display-name\":\"block_duration\",\"units\":"
		       "\"lock_nanoseconds\"}}";
	if (!strcmp(series, "mutex"))
		return "{\"contentions\":{\"display-name\":\"mutex_count\",\"units\":\"lock_"
		       "samples\"},"
		       "\"delay\":{\"display-name\":\"mutex_duration\",\"units\":"
		       "\"lock_nanoseconds\"}}";
	if (!strcmp(series, "memory"))
		return "{\"alloc_objects\":{\"units\":\"objects\"},\"alloc_space\":{\"units\":"
		       "\"bytes\"},\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":"
		       "\"average\"},\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":"
		       "\"average\"}}";
	if (!strcmp(series, "wall"))
		return "{\"samples\":{\"units\":\"samples\"},\"wall\":{\"units\":\"samples\"}}";
	return "{\"samples\":{\"units\":\"samples\"},\"cpu\":{\"units\":\"samples\",\"sampled\":"
	       "true}}";
}

static void make_ingest(struct ct_push_request *r, FILE *to, const struct ct_push_target *t,
			const struct ct_push_item *item)
{
	char boundary[BOUNDARY_SIZE], *service = ct_push_item_label(item, "service_name");
	struct bytes url;
	struct name n;

	open_bytes(&url);
	fprintf(url.to, "%s?name=", t->url);
	put_escaped(url.to, service ? service : "unknown");
	put_escaped(url.to, "{");
	n = (struct name){ url.to, 0 };
	ct_push_item_each_label(item, put_tag, &n);
	put_escaped(url.to, "}");
	fprintf(url.to, "&from=%" PRId64 "&until=%" PRId64 "&spyName=cprof",
		item->from_ns / 1000000000, (item->until_ns + 999999999) / 1000000000);
	fclose(url.to);
	free(r->url);
	r->url = url.data;
	random_name(boundary);
	put_part(to, boundary, "profile", "profile.pprof", "application/octet-stream");
	fwrite(item->data, 1, item->size, to);
	fputs("\r\n", to);
	put_part(to, boundary, "sample_type_config", "sample_type_config.json", "application/json");
	fprintf(to, "%s\r\n", type_config(item->series));
	end_parts(r, to, boundary);
	free(service);
}

/* ---- OTLP ---- */

struct resource {
	struct ct_otlp_attribute *items;
	size_t count, room;
};

/* Writes an attribute by the names of OpenTelemetry's conventions. */
static void put_attribute(const char *key, const char *value, void *arg)
{
	static const char *const keys[][2] = { { "service_name", "service.name" },
					       { "host", "host.name" },
					       { "pid", "process.pid" },
					       { "pod", "k8s.pod.name" },
					       { "namespace", "k8s.namespace.name" },
					       { "node", "k8s.node.name" } };
	struct ct_otlp_attribute a = { .text = NULL };
	struct resource *r = arg;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i][0], key))
			key = keys[i][1];
	a.key = ct_memory_strdup(key);
	if (strcmp(key, "process.pid"))
		a.text = ct_memory_strdup(value);
	else
		a.number = strtol(value, NULL, 10);
	*CT_PUSH(r->items, r->count, r->room) = a;
}

static void make_otlp(struct ct_push_request *r, FILE *to, const struct ct_push_item *item)
{
	struct resource all = { NULL, 0, 0 };
	struct ct_profile *p = ct_push_item_profile(item);
	struct ct_otlp what = { .profile = p };

	if (!p)
		return;
	ct_push_item_each_label(item, put_attribute, &all);
	what.resource = all.items;
	what.resource_count = all.count;
	if (!ct_otlp_encode(&what, to))
		r->type = ct_memory_strdup("application/x-protobuf");
	for (size_t i = 0; i < all.count; i++) {
		free((char *)all.items[i].key);
		free((char *)all.items[i].text);
	}
	free(all.items);
	ct_model_free(p);
}

/* ---- Datadog's agent ---- */

static void put_time(struct ct_json *j, const char *key, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[32], *whole;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	whole = ct_memory_printf("%s.%03dZ", text, (int)(ns / 1000000 % 1000));
	ct_json_text(j, key, whole);
	free(whole);
}

static void put_datadog_tag(const char *key, const char *value, void *arg)
{
	static const char *const keys[][2] = { { "service_name", "service" },
					       { "pod", "pod_name" },
					       { "namespace", "kube_namespace" },
					       { "deployment.environment", "env" },
					       { "service.version", "version" } };
	struct name *n = arg;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i][0], key))
			key = keys[i][1];
	fprintf(n->to, "%s%s:%s", n->count++ ? "," : "", key, value);
}

static void make_datadog(struct ct_push_request *r, FILE *to, const struct ct_push_item *item)
{
	char boundary[BOUNDARY_SIZE], *file = ct_memory_printf("%s.pprof", item->series);
	struct ct_json j = ct_json_to(to);
	struct bytes tags;
	struct name n;

	open_bytes(&tags);
	n = (struct name){ tags.to, 0 };
	ct_push_item_each_label(item, put_datadog_tag, &n);
	put_datadog_tag("runtime", "native", &n);
	fclose(tags.to);
	random_name(boundary);
	put_part(to, boundary, "event", "event.json", "application/json");
	ct_json_open(&j, NULL, '{');
	ct_json_open(&j, "attachments", '[');
	ct_json_text(&j, NULL, file);
	ct_json_close(&j, ']');
	ct_json_text(&j, "tags_profiler", tags.data);
	put_time(&j, "start", item->from_ns);
	/* A profile of the heap is of a moment. */
	put_time(&j, "end",
		 item->until_ns > item->from_ns ? item->until_ns : item->from_ns + 1000000);
	ct_json_text(&j, "family", "native");
	ct_json_text(&j, "version", "4");
	ct_json_close(&j, '}');
	fputs("\r\n", to);
	put_part(to, boundary, file, file, "application/octet-stream");
	fwrite(item->data, 1, item->size, to);
	fputs("\r\n", to);
	end_parts(r, to, boundary);
	free(tags.data);
	free(file);
}

int ct_push_request_make(struct ct_push_request *r, const struct ct_push_target *t,
			 struct ct_push_item *const *items, size_t count)
{
	struct bytes body;

	open_bytes(&body);
	*r = (struct ct_push_request){ .url = ct_memory_strdup(t->url) };
	switch (t->kind) {
	case CT_PUSH_PYROSCOPE: make_pyroscope(r, body.to, items, count); break;
	case CT_PUSH_INGEST: make_ingest(r, body.to, t, items[0]); break;
	case CT_PUSH_PARCA: make_parca(r, body.to, items, count); break;
	case CT_PUSH_OTLP: make_otlp(r, body.to, items[0]); break;
	case CT_PUSH_DATADOG: make_datadog(r, body.to, items[0]); break;
	case CT_PUSH_DIRECTORY: break;
	}
	fclose(body.to);
	r->body = body.data;
	r->size = body.size;
	return r->type ? 0 : -1;
}

void ct_push_request_release(struct ct_push_request *r)
{
	free(r->url);
	free(r->type);
	free(r->body);
}
