/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in labels and comments; see io.h. */
#include "modes/io/io.h"

#include <errno.h>

#include "base/text.h"
#include "modes/io/signal/io_signal.h"

static const char ops[CP_IO_OPS][9] = {
	[CP_IO_READ] = "read",	       [CP_IO_WRITE] = "write",	    [CP_IO_RECV] = "recv",
	[CP_IO_SEND] = "send",	       [CP_IO_POLL] = "poll",	    [CP_IO_OPEN] = "open",
	[CP_IO_CLOSE] = "close",       [CP_IO_STAT] = "stat",	    [CP_IO_SYNC] = "sync",
	[CP_IO_ACCEPT] = "accept",     [CP_IO_CONNECT] = "connect", [CP_IO_COPY] = "copy",
	[CP_IO_SENDFILE] = "sendfile", [CP_IO_SPLICE] = "splice",   [CP_IO_READDIR] = "readdir",
	[CP_IO_RENAME] = "rename",     [CP_IO_UNLINK] = "unlink",   [CP_IO_RESOLVE] = "resolve",
};

const char *cp_io_names_op(unsigned op)
{
	return op < CP_IO_OPS ? ops[op] : "";
}

/* The errors that calls of these families give; strerrorname_np allocates nothing but is younger
 * than some libcs. */
/* clang-format off */
#define NAME(e) { e, #e }
/* clang-format on */
static const struct {
	unsigned error;
	char name[16];
} errors[] = {
	NAME(EPERM),	    NAME(ENOENT),	NAME(EINTR),	    NAME(EIO),
	NAME(ENXIO),	    NAME(EBADF),	NAME(EAGAIN),	    NAME(ENOMEM),
	NAME(EACCES),	    NAME(EFAULT),	NAME(EBUSY),	    NAME(EEXIST),
	NAME(EXDEV),	    NAME(ENODEV),	NAME(ENOTDIR),	    NAME(EISDIR),
	NAME(EINVAL),	    NAME(ENFILE),	NAME(EMFILE),	    NAME(ENOTTY),
	NAME(ETXTBSY),	    NAME(EFBIG),	NAME(ENOSPC),	    NAME(ESPIPE),
	NAME(EROFS),	    NAME(EMLINK),	NAME(EPIPE),	    NAME(ENAMETOOLONG),
	NAME(ENOSYS),	    NAME(ENOTEMPTY),	NAME(ELOOP),	    NAME(EOVERFLOW),
	NAME(ENOTSOCK),	    NAME(EDESTADDRREQ), NAME(EMSGSIZE),	    NAME(EPROTONOSUPPORT),
	NAME(EOPNOTSUPP),   NAME(EAFNOSUPPORT), NAME(EADDRINUSE),   NAME(EADDRNOTAVAIL),
	NAME(ENETDOWN),	    NAME(ENETUNREACH),	NAME(ECONNABORTED), NAME(ECONNRESET),
	NAME(ENOBUFS),	    NAME(EISCONN),	NAME(ENOTCONN),	    NAME(ETIMEDOUT),
	NAME(ECONNREFUSED), NAME(EHOSTUNREACH), NAME(EALREADY),	    NAME(EINPROGRESS),
	NAME(ESTALE),	    NAME(EDQUOT),	NAME(ECANCELED),
};

const char *cp_io_names_error(unsigned error, char *buffer, size_t size)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].error == error)
			return errors[i].name;
	cp_text_format(buffer, size, "%u", error);
	return buffer;
}
