/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a filter of system calls, as a process that is attached to shows one. It is judged,
 * in bounded time. */
#include "system.h"

#include "attach/attach.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sock_filter code[65536];
	const struct ct_seccomp_call call = { .number = SYS_mmap, .known = 4, .args = { 0, 0, 5 } };

	size = size < sizeof(code) ? size : sizeof(code);
	memcpy(code, data, size);
	if (ct_seccomp_run(code, size / sizeof(*code), &call) > CT_SECCOMP_UNJUDGED)
		abort();
	return 0;
}
