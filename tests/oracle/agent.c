/* SPDX-License-Identifier: BSD-3-Clause */
/* What both agents share: the wrapped main, the settings, the report; see oracle.h. */
#include "oracle.h"

#define EXPORT __attribute__((visibility("default")))

struct oracle_agent oracle_agent = { .steps_max = 1000000 };

void oracle_finish(const char *why)
{
	pid_t pid = oracle_agent.pid;
	FILE *out;

	if (!pid || getpid() != pid)
		return;
	oracle_agent.pid = 0;
	out = fopen(oracle_agent.report_path, "w");
	if (!out)
		return;
	fprintf(out, "%lu steps, ended by %s\n", oracle_agent.steps, why);
	fprintf(out, "verdict: %s\n", oracle_compare_report(out) ? "good" : "BAD");
	fclose(out);
}

EXPORT int dlclose(void *handle)
{
	static int (*real)(void *);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlclose");
	result = real(handle);
	if (oracle_agent.pid)
		oracle_compare_forget();
	return result;
}

void oracle_know_stack(void)
{
	struct cp_unwind_input *in = &oracle_agent.in;
	pthread_attr_t attr;
	void *low;
	size_t size;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	in->stack_low = (uint64_t)low;
	in->stack_high = in->stack_low + size;
	in->stable_modules = in->own_tls = true;
}

uint64_t oracle_number(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

EXPORT int __libc_start_main(oracle_main *f, int argc, char **argv, void (*init)(void),
			     void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

EXPORT int __libc_start_main(oracle_main *f, int argc, char **argv, void (*init)(void),
			     void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	static int (*real)(oracle_main *, int, char **, void (*)(void), void (*)(void),
			   void (*)(void), void *);
	const char *out = getenv("ORACLE_OUT");

	*(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
	oracle_agent.program_main = f;
	if (out) {
		oracle_agent.report_path = strdup(out);
		oracle_agent.steps_max = oracle_number("ORACLE_STEPS", oracle_agent.steps_max);
		oracle_libunwind_every =
			(unsigned)oracle_number("ORACLE_LIBUNWIND", oracle_libunwind_every);
		oracle_settings();
		unsetenv("LD_PRELOAD");
		unsetenv("ORACLE_OUT");
		f = oracle_stepped_main;
	}
	return real(f, argc, argv, init, fini, rtld_fini, stack_end);
}
