/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that exports functions of names which the profiler's libraries use. None of
 * them works. A call that isn't the program's own says so, and ends it with status 9. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* Of libc only these, declared here: its headers know better what open looks like. */
extern int puts(const char *);
extern int fflush(void *);
extern void _Exit(int);
extern long clock(void);

static void wrong(const char *name)
{
	puts("the profiler called a function of the program:");
	puts(name);
	fflush(NULL);
	_Exit(9);
}

#define BROKEN(name)                                                                               \
	EXPORT long name(void);                                                                    \
	EXPORT long name(void)                                                                     \
	{                                                                                          \
		wrong(#name);                                                                      \
		return -1;                                                                         \
	}

/* zlib */
BROKEN(deflate)
BROKEN(deflateInit2_)
BROKEN(deflateEnd)
BROKEN(deflateBound)
BROKEN(crc32)
BROKEN(adler32)
BROKEN(inflate)
BROKEN(zcalloc)
BROKEN(zlibVersion)
/* libunwind */
BROKEN(unw_step)
BROKEN(unw_init_local)
BROKEN(unw_get_reg)
BROKEN(unw_backtrace)
BROKEN(unw_getcontext)
BROKEN(_Ux86_64_step)
BROKEN(_Ux86_64_init_remote)
BROKEN(_Ux86_64_get_reg)
BROKEN(_Ux86_64_create_addr_space)
BROKEN(_Ux86_64_is_signal_frame)
BROKEN(_ULx86_64_step)
BROKEN(_ULx86_64_init_local)
BROKEN(_Uaarch64_step)
BROKEN(_Ux86_64_dwarf_search_unwind_table)
BROKEN(_Ux86_64_dwarf_find_proc_info)
BROKEN(_U_dyn_info_list)
/* libc and the compiler's runtime */
BROKEN(backtrace)
BROKEN(backtrace_symbols)
BROKEN(_Unwind_Backtrace)
BROKEN(cplus_demangle_v3)
BROKEN(d_demangle)
BROKEN(__cxa_demangle)
BROKEN(sigaction)
BROKEN(timer_create)
BROKEN(pthread_sigmask)
BROKEN(rename)
BROKEN(fsync)
BROKEN(syscall)
BROKEN(cp_real_resolve)
BROKEN(cprof_start)

#ifndef WITHOUT_ALLOCATOR
/* Wrappers of malloc that work, as an allocator in the program has them. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

EXPORT void *malloc(size_t size)
{
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return __libc_realloc(p, size);
}

EXPORT void free(void *p)
{
	__libc_free(p);
}
#endif

__attribute__((noinline)) unsigned long hot_here(unsigned long n);

__attribute__((noinline)) unsigned long hot_here(unsigned long n)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

/* Calls hot_here, which no table describes: libunwind calls its own functions, by their names, to
 * handle such a frame. */
unsigned long undescribed(unsigned long n);
#if defined(__x86_64__)
__asm__(".text\n.type undescribed, @function\nundescribed:\n"
	"\tpush %rbp\n\tmov %rsp, %rbp\n\tcall hot_here\n\tpop %rbp\n\tret\n"
	".size undescribed, . - undescribed");
#elif defined(__aarch64__)
__asm__(".text\n.type undescribed, %function\nundescribed:\n"
	"\tstp x29, x30, [sp, -16]!\n\tmov x29, sp\n\tbl hot_here\n"
	"\tldp x29, x30, [sp], 16\n\tret\n"
	".size undescribed, . - undescribed");
#endif

int main(void)
{
	long end = clock() + 200000; /* microseconds */

	do
		undescribed(100000);
	while (clock() < end);
	puts("done");
	return 0;
}
