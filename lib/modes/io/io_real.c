/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves the originals of the I/O mode's hooks; see io.h. */
#include "modes/io/io.h"

#include <stddef.h>

#include "base/start_data.h"
#include "host/real.h"
#include "modes/io/signal/io_signal.h"

struct cp_io_real cp_io_real CP_START_DATA;

/* clang-format off */
#define FUNCTIONS \
	WANT(open) \
	WANT(read) \
	WANT(close) \
	WANT(write) \
	WANT(pread) \
	WANT(pread64) \
	WANT(pwrite) \
	WANT(pwrite64) \
	WANT(readv) \
	WANT(writev) \
	WANT(preadv) \
	WANT(preadv64) \
	WANT(pwritev) \
	WANT(pwritev64) \
	SINCE(26, preadv2) \
	SINCE(26, preadv64v2) \
	SINCE(26, pwritev2) \
	SINCE(26, pwritev64v2) \
	WANT(__read_chk) \
	WANT(__pread_chk) \
	WANT(__pread64_chk) \
	WANT(fsync) \
	WANT(fdatasync) \
	WANT(sync_file_range) \
	SINCE(27, copy_file_range) \
	WANT(sendfile) \
	WANT(sendfile64) \
	WANT(splice) \
	WANT(tee) \
	WANT(vmsplice) \
	SINCE(30, getdents64) \
	WANT(readdir) \
	WANT(readdir64) \
	WANT(opendir) \
	WANT(closedir) \
	WANT(fopen) \
	WANT(fopen64) \
	WANT(fclose) \
	WANT(freopen) \
	WANT(freopen64) \
	WANT(pclose) \
	WANT(dup2) \
	WANT(dup3) \
	SINCE(34, closefrom) \
	WANT(open64) \
	WANT(openat) \
	WANT(openat64) \
	WANT(creat) \
	WANT(creat64) \
	WANT(__open_2) \
	WANT(__open64_2) \
	WANT(__openat_2) \
	WANT(__openat64_2) \
	WANT(rename) \
	WANT(renameat) \
	SINCE(28, renameat2) \
	WANT(unlink) \
	WANT(unlinkat) \
	WANT(accept) \
	WANT(accept4) \
	WANT(connect) \
	WANT(recv) \
	WANT(recvfrom) \
	WANT(recvmsg) \
	WANT(recvmmsg) \
	WANT(__recv_chk) \
	WANT(__recvfrom_chk) \
	WANT(send) \
	WANT(sendto) \
	WANT(sendmsg) \
	WANT(sendmmsg) \
	WANT(getaddrinfo) \
	WANT(poll) \
	WANT(ppoll) \
	WANT(__poll_chk) \
	WANT(__ppoll_chk) \
	WANT(select) \
	WANT(pselect) \
	WANT(epoll_wait) \
	WANT(epoll_pwait) \
	SINCE(35, epoll_pwait2)
/* clang-format on */
#define WANT(function) SINCE(0, function)

#define SINCE(minor, function) { .at = offsetof(struct cp_io_real, function), .since = minor },
static const struct cp_real_wanted wanted[] = { FUNCTIONS };
#undef SINCE
#define SINCE(minor, function) #function "\0"
static const char wanted_names[] = FUNCTIONS;
#undef SINCE

int cp_io_real_resolve(void)
{
	int missing =
		cp_real_find(&cp_io_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);

	/* From now on a call with the mode off is one comparison and a jump. */
	cp_and_seqcst(&cp_io_active, ~(uint32_t)CP_IO_EARLY);
	return missing;
}
