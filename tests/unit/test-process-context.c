/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/output/process_context.c: attributes are read; a context that is not valid, not complete or
 * hostile is not. */
#include "harness.h"
#include "output/output.h"

static struct {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
} context;

static uint8_t message[8192];
static char seen[1024];

static void each(void *arg, const char *key, const char *value)
{
	size_t n = strlen(seen);

	snprintf(seen + n, sizeof(seen) - n, "%s%s=%s", (const char *)arg, key, value);
}

static const char *read_it(void)
{
	seen[0] = '\0';
	cp_process_context_read((uint64_t)(uintptr_t)&context, each, " ");
	return seen;
}

/* host.name="a", a number, and an attribute with a list, which is left out. */
#define MESSAGE                                                                                    \
	"\x12\x02\x0a\x00"                                                                         \
	"\x0a\x2e"                                                                                 \
	"\x0a\x10\x0a\x09host.name\x12\x03\x0a\x01"                                                \
	"a"                                                                                        \
	"\x0a\x0d\x0a\x06number\x12\x03\x18\xac\x02"                                               \
	"\x0a\x0b\x0a\x05"                                                                         \
	"items\x12\x02\x2a\x00"

static void publish(void)
{
	memset(&context, 0, sizeof(context));
	memcpy(context.signature, "OTEL_CTX", 8);
	memcpy(message, MESSAGE, sizeof(MESSAGE) - 1);
	context.version = 2;
	context.size = sizeof(MESSAGE) - 1;
	context.published = 5;
	context.payload = (uint64_t)(uintptr_t)message;
}

TEST(test_attributes_are_read)
{
	publish();
	CHECK_STR(read_it(), " host.name=a number=300");
}

TEST(test_what_is_not_valid_is_not_read)
{
	publish();
	context.published = 0;
	CHECK_STR(read_it(), "");
	publish();
	context.version = 1;
	CHECK_STR(read_it(), "");
	publish();
	context.signature[0] = 'X';
	CHECK_STR(read_it(), "");
	publish();
	context.size = 5000;
	CHECK_STR(read_it(), "");
	publish();
	context.payload = 64;
	CHECK_STR(read_it(), "");
	cp_process_context_read(0, each, " ");
	cp_process_context_read(64, each, " ");
	CHECK_STR(seen, "");
}

TEST(test_every_truncation_and_flip_is_survived)
{
	publish();
	for (uint32_t i = 0; i < sizeof(MESSAGE) - 1; i++) {
		context.size = i;
		read_it();
		context.size = sizeof(MESSAGE) - 1;
		for (unsigned bit = 0; bit < 8; bit++) {
			message[i] ^= (uint8_t)(1 << bit);
			read_it();
			message[i] ^= (uint8_t)(1 << bit);
		}
	}
	CHECK_STR(read_it(), " host.name=a number=300");
}
