/* A descriptor as a sink; see sink.h. */
#include "sink.h"

#include "fdwrite.h"

static int write_fd(struct cp_sink *s, const void *data, size_t n)
{
	return cp_fdwrite_all(((struct cp_fd_sink *)s)->fd, data, n, true);
}

void cp_fd_sink_open(struct cp_fd_sink *f, int fd)
{
	*f = (struct cp_fd_sink){ .sink.write = write_fd, .fd = fd };
}
