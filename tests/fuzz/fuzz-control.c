/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client may send over the control socket, however long; and replies with values from
 * anywhere.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/collect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void look_at_request(const uint8_t *data, size_t size)
{
	/* As large as what was received: anything read behind that is found. */
	struct cp_control_message *m = malloc(size ? size : 1);

	if (!m)
		return;
	memcpy(m, data, size);
	if (!cp_control_socket_check(m, size))
		check(m->size == size - CP_CONTROL_HEADER && m->size <= CP_CONTROL_TEXT &&
		      m->request && m->request < CP_CONTROL_REQUESTS);
	free(m);
}

static void make_reply(const uint8_t *data, size_t size)
{
	static struct cp_control_message m;
	char value[64];

	cp_control_socket_reply(&m, 0);
	while (size) {
		size_t n = *data % sizeof(value) < size ? *data % sizeof(value) : size - 1;

		memcpy(value, data + 1, n);
		value[n] = '\0';
		cp_control_socket_text(&m, "key", value);
		data += n + 1;
		size -= n + 1;
	}
	check(m.size <= CP_CONTROL_TEXT && (!m.size || m.text[m.size - 1] == '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > sizeof(struct cp_control_message))
		size = sizeof(struct cp_control_message);
	look_at_request(data, size);
	make_reply(data, size);
	return 0;
}
