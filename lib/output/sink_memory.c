/* SPDX-License-Identifier: BSD-3-Clause */
/* A sink that keeps the bytes; see pprof.h. */
#include "output/pprof.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define ROOM_MIN ((size_t)64 << 10)

static int grow_sink(struct cp_memory_sink *m, size_t need)
{
	size_t room = m->room ? m->room : ROOM_MIN;
	uint8_t *data;

	while (room < need)
		room *= 2;
	data = cp_sys_map(room);
	if (!data)
		return -ENOMEM;
	if (m->used)
		memcpy(data, m->data, m->used);
	cp_sys_unmap(m->data, m->room);
	m->data = data;
	m->room = room;
	return 0;
}

static int write_memory(struct cp_sink *s, const void *data, size_t n)
{
	struct cp_memory_sink *m = (struct cp_memory_sink *)s;

	if (m->used + n > m->room && grow_sink(m, m->used + n) < 0)
		return -ENOMEM;
	memcpy(m->data + m->used, data, n);
	m->used += n;
	return 0;
}

void cp_sink_memory_open(struct cp_memory_sink *m)
{
	*m = (struct cp_memory_sink){ .sink.write = write_memory };
}

void cp_sink_memory_release(struct cp_memory_sink *m)
{
	cp_sys_unmap(m->data, m->room);
	*m = (struct cp_memory_sink){ .sink.write = write_memory };
}
