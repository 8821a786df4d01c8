/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes what each thread works on (OTEP 4947), and whose process it is (OTEP 4719), as an SDK
 * of OpenTelemetry does.
 *
 *   trace-context-host SECONDS  works so long in each of two spans of main, and in a worker's;
 *                               the worker then waits as long
 *   trace-context-host wrong    publishes records and pointers that aren't valid: nothing may come
 *                               of them
 *   trace-context-host many N   N spans of a few hundred microseconds
 */

#define HOST_HAS_TIMERS /* burns wholly, always */
#define HOST_BURNS_EXACTLY
#include "host.h"

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t more;
} __attribute__((packed, aligned(2)));

__attribute__((visibility("default"))) __thread struct record *otel_thread_ctx_v1;

/* The pointer and VALID are the last that a handler may see change. */
static void attach(struct record *r, unsigned number)
{
	r->valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memset(r->trace, 0xab, sizeof(r->trace));
	memset(r->span, 0, sizeof(r->span));
	memcpy(r->span, &number, sizeof(number));
	r->span[7] = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->valid = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = r;
}

static void *work(void *seconds)
{
	static struct record mine;
	struct timespec t = { 0 };
	double s = *(double *)seconds;

	attach(&mine, 3);
	burn(s);
	t.tv_sec = (time_t)s;
	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
	otel_thread_ctx_v1 = NULL;
	return NULL;
}

/* A ProcessContext with two attributes. */
static const char message[] = "\x0a\x41"
			      "\x0a\x1c\x0a\x0cservice.name\x12\x0c\x0a\x0amy \xc3\xa9 shop"
			      "\x0a\x21\x0a\x13service.instance.id\x12\x0a\x0a\x08no \n 17!";

static void publish(void)
{
	struct {
		char signature[8];
		uint32_t version, size;
		uint64_t published, payload;
	} * at;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	memcpy(at->signature, "OTEL_CTX", 8);
	at->version = 2;
	at->size = sizeof(message) - 1;
	at->payload = (uint64_t)(uintptr_t)message;
	at->published = 1;
}

static void usual(double seconds)
{
	static struct record first, second;
	pthread_t thread;

	publish();
	pthread_create(&thread, NULL, work, &seconds);
	attach(&first, 1);
	burn(seconds);
	attach(&second, 2);
	burn(seconds);
	otel_thread_ctx_v1 = NULL;
	burn(seconds);
	pthread_join(thread, NULL);
}

static void wrong(void)
{
	static struct record r;
	char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct record *cut = (struct record *)(gone + 4096 - 8);

	attach(&r, 7);
	r.valid = 0;
	burn(0.05);
	attach(&r, 7);
	r.valid = 2;
	burn(0.05);
	attach(&r, 7);
	memset(r.span, 0, sizeof(r.span));
	burn(0.05);
	munmap(gone + 4096, 4096);
	otel_thread_ctx_v1 = cut; /* its end is not mapped */
	burn(0.05);
	munmap(gone, 4096);
	burn(0.05);
	otel_thread_ctx_v1 = (struct record *)3;
	burn(0.05);
	otel_thread_ctx_v1 = (struct record *)UINT64_C(0xffffffffffffff00);
	burn(0.05);
}

static void many(unsigned count)
{
	static struct record r;

	for (unsigned i = 0; i < count; i++) {
		attach(&r, i);
		burn(0.0003);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2)
		many((unsigned)atoi(argv[2]));
	else if (argc > 1 && !strcmp(argv[1], "wrong"))
		wrong();
	else if (argc > 1)
		usual(atof(argv[1]));
	puts("done");
	return 0;
}
