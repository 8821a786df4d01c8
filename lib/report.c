/* Comments of a profile; see report.h. */
#include "report.h"

#include <sys/utsname.h>
#include <time.h>

#include "cp-build.h"
#include "cpu.h"
#include "sigsafe/capture.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

static void line(struct cp_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(struct cp_report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->count == CP_REPORT_LINES)
		return;
	va_start(ap, fmt);
	cp_vformat(r->lines[r->count], CP_REPORT_LINE, fmt, ap);
	va_end(ap);
	r->pointers[r->count] = r->lines[r->count];
	r->count++;
}

#define L(x) ((unsigned long)(x))

/* "12.345" of NS, in a small ring of buffers so that a line can hold several. */
static const char *seconds(uint64_t ns)
{
	static char buffers[8][32];
	static unsigned next;
	char *b = buffers[next++ % 8];

	cp_format(b, sizeof(buffers[0]), "%lu.%03lu", L(ns / 1000000000u),
		  L(ns / 1000000u % 1000u));
	return b;
}

/* PART of WHOLE in per cent, with two digits behind the point. */
static const char *percent(uint64_t part, uint64_t whole)
{
	static char buffers[4][32];
	static unsigned next;
	char *b = buffers[next++ % 4];
	uint64_t p = whole ? (uint64_t)((__uint128_t)part * 10000 / whole) : 0;

	cp_format(b, sizeof(buffers[0]), "%lu.%02lu", L(p / 100), L(p % 100));
	return b;
}

static const char *engine_name(void)
{
	if (cp_cpu.itimer_only)
		return "itimer (ITIMER_PROF of the process)";
	return cp_cpu_state.process_timer ? "timer, and ITIMER_PROF for threads without one"
					  : "timer (POSIX timer of each thread)";
}

static void losses(struct cp_report *out, const struct cp_run *r)
{
	line(out,
	     "samples: %lu taken for %lu expiries; lost expiries: %lu ring full, %lu no memory, "
	     "%lu unknown thread, %lu collector limit; %lu in paused threads",
	     L(cp_run_counted(r, CP_COUNT_SAMPLES)), L(cp_run_counted(r, CP_COUNT_EXPIRIES)),
	     L(cp_run_counted(r, CP_COUNT_LOST_RING)), L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
	     L(cp_run_counted(r, CP_COUNT_LOST_THREAD)),
	     L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
	     L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	if (cp_run_counted(r, CP_COUNT_TAILS))
		line(out,
		     "thread ends: %lu expiries after a thread's last kernel tick, given to its "
		     "last stack",
		     L(cp_run_counted(r, CP_COUNT_TAILS)));
	line(out, "stacks: %lu truncated at the depth limit, %lu incomplete",
	     L(cp_run_counted(r, CP_COUNT_TRUNCATED)), L(cp_run_counted(r, CP_COUNT_INCOMPLETE)));
}

static void times(struct cp_report *out, const struct cp_run *r)
{
	uint64_t total = cp_run_clock(CLOCK_PROCESS_CPUTIME_ID) - r->start_cpu_ns;
	uint64_t own = cp_run_own_cpu(r), program = total > own ? total - own : 0;
	uint64_t sampled = r->aggregate.weight * cp_cpu.period_ns;
	uint64_t handlers = cp_run_handler_ns(r);

	line(out, "cpu time: %s s used by the program, %s s in samples, %s s unsampled",
	     seconds(program), seconds(sampled),
	     seconds(program > sampled ? program - sampled : 0));
	line(out,
	     "cost: about %s ms in handlers (%s %% of the program's CPU time), %s ms in the "
	     "collector",
	     seconds(handlers * 1000), percent(handlers, program), seconds(own * 1000));
}

void cp_report_make(struct cp_report *out, const struct cp_run *r, const struct cp_config *c)
{
	uint64_t named = r->names.named, all = named + r->names.unnamed;
	struct utsname u = { 0 };

	out->count = 0;
	cp_sys1(SYS_uname, &u);
	line(out, "libcprof " PACKAGE_VERSION ", mode cpu, pid %d, %s %s %s", cp_sys_getpid(),
	     u.sysname, u.release, u.machine);
	line(out, "settings: frequency %u Hz, period %lu ns, engine %s, unwind %s, max depth %u",
	     cp_cpu.frequency, L(cp_cpu.period_ns), engine_name(),
	     cp_capture_settings.unwinder ? cp_capture_settings.unwinder->name : "none",
	     cp_capture_settings.max_depth);
	losses(out, r);
	line(out, "symbols: %lu of %lu frames named (%s %%)", L(named), L(all),
	     percent(named, all));
	line(out, "threads: %lu given a timer, %lu without one, %lu found outside pthread_create",
	     L(cp_counted(CP_COUNT_THREADS)), L(cp_counted(CP_COUNT_TIMER_FAILURES)),
	     L(cp_counted(CP_COUNT_FOREIGN_THREADS)));
	times(out, r);
}
