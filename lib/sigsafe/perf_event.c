/* perf events without descriptors; see perf_event.h. */
#include "sigsafe/perf_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

/* An event's period is up to so much of what was asked for longer or shorter. A program whose turns
 * are about as long as the period is in step with it, and what a hit costs can keep it so: with
 * periods that are all within an eighth, functions in such turns had up to 6 % too much or too
 * little. */
#define SPREAD 4
/* How long an event lasts, at least: in the midst of other threads' work to make one anew takes 0.3
 * ms, most of it for taking the old one's pages from all CPUs. */
#define LIFE_HITS 64
#define LIFE_NS UINT64_C(640000000)

/* Of a record of type PERF_RECORD_SAMPLE, behind its header: how many program counters follow. */
#define SAMPLE_COUNT 1
/* Of one of type PERF_RECORD_LOST: how many. */
#define LOST_COUNT 2

size_t cp_perf_page = 4096;

static uint64_t next_random(struct cp_perf *p)
{
	/* Knuth's MMIX generator; its high bits are good. */
	p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return p->random >> 32;
}

static int open_event(int tid, uint64_t period_ns)
{
	struct perf_event_attr attr;
	int fd, high;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	attr.sample_period = period_ns;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.disabled = 1;
	attr.exclude_callchain_user = 1;
	fd = (int)cp_sys5(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || fd >= CP_FD_FLOOR)
		return fd;
	high = (int)cp_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, CP_FD_FLOOR);
	if (high < 0)
		return fd; /* few are allowed here */
	cp_sys_close(fd);
	return high;
}

static int direct_signal(int fd, int tid)
{
	struct f_owner_ex owner = { F_OWNER_TID, tid };
	long err = cp_sys3(SYS_fcntl, fd, F_SETOWN_EX, &owner);

	if (!err)
		err = cp_sys3(SYS_fcntl, fd, F_SETSIG, SIGPROF);
	if (!err)
		err = cp_sys3(SYS_fcntl, fd, F_SETFL, O_ASYNC);
	return (int)err;
}

/* In one call, unlike cp_sys_unmap: newer kernels refuse to part an event's pages, and it would go
 * on for ever. */
static void unmap(void *pages)
{
	if (pages)
		cp_sys2(SYS_munmap, pages, 2 * cp_perf_page);
}

static int map_event(int fd, void **pages)
{
	long at = cp_syscall6(SYS_mmap, 0, 2 * cp_perf_page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      0);

	if (at < 0 && at > -4096)
		return (int)at;
	*pages = (void *)at;
	return 0;
}

/* To take pages from all CPUs is a third of what it takes to replace an event, and more where
 * others run. A thread that ends before its second hit does that at its end, and not in the
 * function that its only hit met: that would have to work longer, and no hit would stand for it.
 * The first event has hit, and is nothing but pages. */
static void put_aside(struct cp_perf *p, void *old)
{
	if (p->once)
		p->past = old;
	else
		unmap(old);
}

/* An event of PERIOD_NS takes the place of P's. Its descriptor, or a negative errno: then nothing
 * has changed. */
static int replace(struct cp_perf *p, int tid, uint64_t period_ns)
{
	int fd = open_event(tid, period_ns), err;
	void *pages = NULL, *old = p->pages;

	if (fd < 0)
		return fd;
	err = map_event(fd, &pages);
	if (!err)
		err = direct_signal(fd, tid);
	if (err) {
		unmap(pages);
		cp_sys_close(fd);
		return err;
	}
	/* Before it runs, and after the old one has ended: whose signal it is, is told by these. */
	put_aside(p, old);
	p->fd = fd;
	cp_store_release(&p->pages, pages);
	return fd;
}

/* ONCE: it stops when it has hit. */
static void start(int fd, bool once)
{
	cp_sys3(SYS_ioctl, fd, once ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE, once);
	cp_sys_close(fd);
}

/* In [base - base / SPREAD, base + base / SPREAD); BASE_NS is a second at most. */
static uint64_t draw_period(struct cp_perf *p, uint64_t base_ns)
{
	uint64_t spread = base_ns / SPREAD;

	return base_ns - spread + (2 * spread * next_random(p) >> 32);
}

int cp_perf_open(struct cp_perf *p, int tid, uint64_t first_ns, uint64_t base_ns)
{
	int fd;

	p->random ^= first_ns * UINT64_C(0x9e3779b97f4a7c15) + (unsigned)tid;
	p->period = draw_period(p, base_ns);
	/* What is left over at its end is on average what it begins with. */
	p->credit = base_ns * next_random(p) >> 32;
	p->left = 1;
	p->once = true;
	p->due = 0;
	/* The same part of the period that was drawn: it is what the hit counts for. Each is
	 * about a second at most, so their product fits. */
	first_ns = first_ns * p->period / base_ns;
	/* With none at all it would never hit. */
	first_ns += !first_ns;
	fd = replace(p, tid, first_ns);
	if (fd < 0)
		return fd;
	start(fd, true);
	p->due = cp_sys_clock_ns(CP_THREAD_CLOCK(tid));
	p->due += p->due ? first_ns : 0;
	return 0;
}

/* The event FD goes on after the first one's hit, and isn't running yet. What has passed since that
 * hit is little, but not where a thread lives for a few periods: the next hit counts for it, too,
 * and comes so much sooner, when it would have come with no event made anew. */
static void make_up(struct cp_perf *p, int fd, int tid, uint64_t base_ns)
{
	uint64_t now = cp_sys_clock_ns(CP_THREAD_CLOCK(tid)), sooner;

	if (!p->due || now <= p->due || now - p->due >= base_ns)
		return;
	p->credit += now - p->due;
	sooner = p->period - (now - p->due);
	if (now - p->due < p->period / 2 && !cp_sys3(SYS_ioctl, fd, PERF_EVENT_IOC_PERIOD, &sooner))
		p->period = sooner;
}

int cp_perf_renew(struct cp_perf *p, int tid, uint64_t base_ns)
{
	/* The first hit came after a random part of its period. With the same one from there on,
	 * each moment has as many hits as any other, on average; with another, one that is shorter
	 * brings the second hit too early, and threads that live for a period have too much. */
	uint64_t period = p->once ? p->period : draw_period(p, base_ns);
	int fd = replace(p, tid, period);

	p->left = LIFE_NS / base_ns > LIFE_HITS ? (uint32_t)(LIFE_NS / base_ns) : LIFE_HITS;
	if (fd >= 0) {
		p->period = period;
		if (p->once)
			make_up(p, fd, tid, base_ns);
		p->once = false;
		start(fd, false);
	} else if (p->once) {
		cp_perf_close(p);
		return fd;
	}
	return 0;
}

void cp_perf_forget(struct cp_perf *p)
{
	unmap(p->past);
	p->past = NULL;
}

void cp_perf_close(struct cp_perf *p)
{
	unmap(cp_exchange_acqrel(&p->pages, NULL));
	cp_perf_forget(p);
}

static const struct perf_event_mmap_page *control(const struct cp_perf *p)
{
	return p->pages;
}

/* The kernel frames of the sample at word AT; what else is in the list marks contexts. */
static void find_frames(const struct cp_perf *p, uint64_t at, struct cp_perf_frames *f)
{
	uint64_t n;

	f->words = (const uint64_t *)((const char *)p->pages + cp_perf_page);
	f->mask = cp_perf_page / 8 - 1;
	n = f->words[(at + SAMPLE_COUNT) & f->mask];
	f->at = at + SAMPLE_COUNT + 1;
	f->count = 0;
	if (n && f->words[f->at & f->mask] == (uint64_t)PERF_CONTEXT_KERNEL) {
		f->at++;
		n--;
	}
	while (f->count < n && n <= f->mask &&
	       f->words[(f->at + f->count) & f->mask] < (uint64_t)PERF_CONTEXT_MAX)
		f->count++;
}

uint64_t cp_perf_written(const struct cp_perf *p)
{
	return cp_load_acquire(&control(p)->data_head);
}

unsigned cp_perf_next(const struct cp_perf *p, struct cp_perf_frames *frames, uint64_t *tail)
{
	const uint64_t *words = (const uint64_t *)((const char *)p->pages + cp_perf_page);
	uint64_t head = cp_load_acquire(&control(p)->data_head), at = control(p)->data_tail;
	uint64_t mask = cp_perf_page / 8 - 1;
	unsigned hits = 0;

	frames->count = 0;
	while (at < head && !hits) {
		struct perf_event_header h;
		uint64_t word = at / 8;

		memcpy(&h, &words[word & mask], sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE) {
			find_frames(p, word, frames);
			hits = 1;
		} else if (h.type == PERF_RECORD_LOST) {
			hits = (unsigned)words[(word + LOST_COUNT) & mask];
		}
		at += h.size ? h.size : head - at;
	}
	*tail = at;
	return hits;
}

void cp_perf_release(const struct cp_perf *p, uint64_t tail)
{
	struct perf_event_mmap_page *page = p->pages;

	/* Release: pairs with the kernel's look for room; the frames were read. */
	cp_store_release(&page->data_tail, tail);
}

uint64_t cp_perf_credit(struct cp_perf *p, uint64_t hits, uint64_t base_ns)
{
	uint64_t whole;

	p->credit += hits * p->period;
	whole = p->credit / base_ns;
	p->credit -= whole * base_ns;
	return whole;
}

bool cp_perf_is_programs(int fd)
{
	long flags = cp_sys3(SYS_fcntl, fd, F_GETFL, 0);
	struct f_owner_ex owner = { 0 };

	if (flags < 0 || !(flags & O_ASYNC) || cp_sys3(SYS_fcntl, fd, F_GETSIG, 0) != SIGPROF)
		return false;
	/* That of another thread may be one of ours that is just being made. */
	cp_sys3(SYS_fcntl, fd, F_GETOWN_EX, &owner);
	return owner.type != F_OWNER_TID || owner.pid == cp_sys_gettid();
}
