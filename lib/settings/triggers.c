/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads CPROF_DUMP_ON; see settings.h. */
#include "settings/settings.h"

#include <errno.h>

#include "base/text.h"

static int parse_memory(const char *amount, struct cp_trigger *to)
{
	const char *end = amount;
	uint64_t n;

	to->is_memory = true;
	if (!cp_text_parse_u64(&end, 10, &n) && !strcmp(end, "%")) {
		to->percent = true;
		to->more_than = n;
		return n && n <= 100 ? 0 : -EINVAL;
	}
	return cp_config_values_size(amount, &to->more_than) || !to->more_than ? -EINVAL : 0;
}

/* ONE is "span>500ms", "span:NAME>500ms", "rss>80%" or "rss>2G". A name may have a ">". */
static int parse_one(char *one, struct cp_trigger *to)
{
	char *amount = strrchr(one, '>');

	*to = (struct cp_trigger){ 0 };
	if (!amount)
		return -EINVAL;
	*amount++ = '\0';
	if (!strcmp(one, "rss"))
		return parse_memory(amount, to);
	if (!strncmp(one, "span:", 5) && one[5] && strlen(one + 5) < CP_TRIGGER_NAME)
		memcpy(to->span, one + 5, strlen(one + 5) + 1);
	else if (strcmp(one, "span"))
		return -EINVAL;
	return cp_config_values_duration(amount, &to->more_than) || !to->more_than ? -EINVAL : 0;
}

int cp_triggers_parse(const char *text, struct cp_trigger to[CP_TRIGGERS])
{
	char one[CP_TRIGGER_NAME + 32];
	unsigned count = 0;

	memset(to, 0, CP_TRIGGERS * sizeof(*to));
	for (const char *next; *text; text = next) {
		size_t n = strcspn(text, ",");

		if (count == CP_TRIGGERS || n >= sizeof(one))
			return -EINVAL;
		memcpy(one, text, n);
		one[n] = '\0';
		if (parse_one(one, &to[count++]))
			return -EINVAL;
		next = text + n + (text[n] == ',');
	}
	return 0;
}

bool cp_triggers_are_good(const char *text)
{
	struct cp_trigger read[CP_TRIGGERS];

	return !cp_triggers_parse(text, read);
}
