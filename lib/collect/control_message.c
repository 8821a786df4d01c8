/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and replies of the control socket; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

int cp_control_message_check(const struct cp_control_message *m, size_t got)
{
	if (got < CP_CONTROL_HEADER || m->magic != CP_CONTROL_MAGIC)
		return -EBADMSG;
	/* Another version may count its bytes in another way. */
	if (m->version != CP_CONTROL_VERSION)
		return -EPROTO;
	if (m->size > CP_CONTROL_TEXT || got != CP_CONTROL_HEADER + m->size || m->result)
		return -EBADMSG;
	if (!m->request || m->request >= CP_CONTROL_REQUESTS)
		return -EBADMSG;
	return 0;
}

void cp_control_message_reply(struct cp_control_message *m, int result)
{
	m->magic = CP_CONTROL_MAGIC;
	m->version = CP_CONTROL_VERSION;
	m->result = result;
	m->size = 0;
}

void cp_control_message_text(struct cp_control_message *m, const char *key, const char *value)
{
	size_t keys = strlen(key), values = strlen(value);
	char *to = m->text + m->size;

	if (keys + values + 2 > CP_CONTROL_TEXT - m->size)
		return;
	memcpy(to, key, keys);
	to[keys] = '=';
	for (size_t i = 0; i < values; i++)
		to[keys + 1 + i] =
			(unsigned char)value[i] < ' ' || value[i] == 127 ? '?' : value[i];
	to[keys + 1 + values] = '\n';
	m->size += (uint32_t)(keys + values + 2);
}

void cp_control_message_number(struct cp_control_message *m, const char *key, uint64_t value)
{
	char text[24];

	cp_text_format(text, sizeof(text), "%lu", (unsigned long)value);
	cp_control_message_text(m, key, text);
}
