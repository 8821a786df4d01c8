/* SPDX-License-Identifier: BSD-3-Clause */
/* perf events without open descriptors; see sample.h. */
#include "sample/sample.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/base.h"
#include "base/sys.h"

/* An event's period is up to 1/SPREAD of the requested one longer or shorter. A program whose
 * cycles are about as long as the period is in step with it, and the cost of a hit can keep it so.
 * With periods that are all within an eighth, functions in such cycles had up to 6 % too much or
 * too little. */
#define SPREAD 4
/* Least lifetime of an event. While other threads work, making an event anew takes 0.3 ms, most of
 * it for taking the old event's pages from all CPUs. */
#define LIFE_HITS 64
#define LIFE_NS UINT64_C(640000000)

/* A period of so many events or more is longer than any cycle that it could be in step with. To
 * test a number below it takes 3 us. */
#define PRIMES (UINT64_C(1) << 20)

/* Word of a PERF_RECORD_SAMPLE, after its header, that tells how many program counters follow. */
#define SAMPLE_COUNT 1
/* Word of a PERF_RECORD_LOST that tells the number of lost records. */
#define LOST_COUNT 2

static uint64_t next_random(struct cp_perf *p)
{
	/* Knuth's MMIX generator; its high bits are good. */
	p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return p->random >> 32;
}

static int open_event(const struct cp_perf_what *what, int tid, uint64_t period)
{
	struct perf_event_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.type = what ? what->type : PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.config = what ? what->config : PERF_COUNT_SW_TASK_CLOCK;
	attr.sample_period = period;
	attr.exclude_kernel = attr.exclude_hv = what && what->user;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.disabled = 1;
	attr.exclude_callchain_user = 1;
	fd = (int)cp_sys5(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return cp_sys_move_up(fd);
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

/* Unmap in one call, unlike cp_sys_unmap: newer kernels refuse to split an event's pages, and
 * cp_sys_unmap would go on forever. */
static void unmap(void *pages)
{
	if (pages)
		cp_sys2(SYS_munmap, pages, 2 * cp_pages_kernel());
}

static int map_event(int fd, void **pages)
{
	long at = cp_sys_map_fd(fd, 2 * cp_pages_kernel());

	if (at < 0 && at > -4096)
		return (int)at;
	*pages = (void *)at;
	return 0;
}

/* Release the old event's pages, or put them aside. Taking pages from all CPUs is a third of the
 * time of replacing an event, and more where other threads run. A thread that ends before its
 * second hit releases them at its end, not in the function of its only hit: that function would
 * work longer, and no hit would represent the extra time. The first event has already hit, so only
 * its pages are left. */
static void put_aside(struct cp_perf *p, void *old)
{
	/* Events that count something other than the clock go on until they are unmapped. */
	if (p->once && !p->what)
		p->past = old;
	else
		unmap(old);
}

/* Replace P's event by one of PERIOD. Returns its descriptor, or a negative errno; after an
 * error nothing has changed. */
static int replace_event(struct cp_perf *p, int tid, uint64_t period)
{
	int fd = open_event(p->what, tid, period), err;
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
	/* Set before the new event runs and after the old one has ended: these fields tell which
	 * event a signal belongs to. */
	put_aside(p, old);
	p->fd = fd;
	cp_store_release(&p->pages, pages);
	return fd;
}

/* Start the event. ONCE: it stops after its first hit. */
static void start_event(int fd, bool once)
{
	cp_sys3(SYS_ioctl, fd, once ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE, once);
	cp_sys_close(fd);
}

static bool is_prime(uint64_t n)
{
	for (uint64_t d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return true;
}

/* Return a random period in [base - base / SPREAD, base + base / SPREAD), or the next prime number
 * if few events are counted: an event that is a cycle's every third is then hit as often as the
 * others of its cycle, however long the period is kept. BASE is at most 10^9. */
static uint64_t draw_period(struct cp_perf *p, uint64_t base)
{
	uint64_t spread = base / SPREAD, period;

	period = base - spread + (2 * spread * next_random(p) >> 32);
	while (p->what && period > 1 && period < PRIMES && !is_prime(period))
		period++;
	return period;
}

int cp_perf_event_open(struct cp_perf *p, int tid, uint64_t first, uint64_t base)
{
	int fd;

	p->random ^= first * UINT64_C(0x9e3779b97f4a7c15) + (unsigned)tid;
	p->period = draw_period(p, base);
	/* The expected remainder at the thread's end equals this initial credit. */
	p->credit = base * next_random(p) >> 32;
	/* An event that hits every time keeps its period. */
	p->once = !p->what || base > 1;
	p->left = p->once ? 1 : UINT32_MAX;
	p->hit = false;
	p->due = 0;
	/* The same part of the period that was drawn, because that is the weight of the hit. Each
	 * factor is about 10^9 at most, so the product fits. */
	first = first * p->period / base;
	/* With a period of 0 the event would never hit. */
	first += !first;
	p->first = first;
	fd = replace_event(p, tid, first);
	if (fd < 0)
		return fd;
	/* When a count hits, the system call may have more hits before the handler makes the next
	 * event, so ONCE is for the clock only. */
	start_event(fd, !p->what);
	p->due = p->what ? 0 : cp_sys_clock_ns(CP_THREAD_CLOCK(tid));
	p->due += p->due ? first : 0;
	return 0;
}

/* Account for the time since the hit of the first event. The event FD continues from there and
 * isn't running yet. That time matters if a thread lives for a few periods only. So the next hit
 * counts for it, too, and comes as early as it would have come without a new event. */
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

int cp_perf_event_renew(struct cp_perf *p, int tid, uint64_t base)
{
	/* The first hit came after a random part of its period. If the same period follows, each
	 * moment has as many hits as any other, on average. A shorter one would bring the second
	 * hit too early, and threads that live for a period would have too many hits. */
	uint64_t period = p->once ? p->period : draw_period(p, base);
	int fd = replace_event(p, tid, period);

	p->left = LIFE_HITS;
	if (!p->what && LIFE_NS / base > LIFE_HITS)
		p->left = (uint32_t)(LIFE_NS / base);
	if (fd >= 0) {
		p->period = period;
		if (p->once)
			make_up(p, fd, tid, base);
		p->once = false;
		start_event(fd, false);
	} else if (p->once) {
		cp_perf_event_close(p);
		return fd;
	}
	return 0;
}

void cp_perf_event_forget(struct cp_perf *p)
{
	unmap(p->past);
	p->past = NULL;
}

void cp_perf_event_close(struct cp_perf *p)
{
	unmap(cp_exchange_acqrel(&p->pages, NULL));
	cp_perf_event_forget(p);
}

static const struct perf_event_mmap_page *control(const struct cp_perf *p)
{
	return p->pages;
}

/* Find the kernel frames of the sample at word AT. Other entries in the list mark contexts. */
static void find_frames(const struct cp_perf *p, uint64_t at, struct cp_kernel_frames *f)
{
	uint64_t n;

	f->words = (const uint64_t *)((const char *)p->pages + cp_pages_kernel());
	f->mask = cp_pages_kernel() / 8 - 1;
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

uint64_t cp_perf_event_written(const struct cp_perf *p)
{
	return cp_load_acquire(&control(p)->data_head);
}

unsigned cp_perf_event_next(const struct cp_perf *p, struct cp_kernel_frames *frames,
			    uint64_t *tail)
{
	const uint64_t *words = (const uint64_t *)((const char *)p->pages + cp_pages_kernel());
	uint64_t head = cp_load_acquire(&control(p)->data_head), at = control(p)->data_tail;
	uint64_t mask = cp_pages_kernel() / 8 - 1;
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

void cp_perf_event_release(const struct cp_perf *p, uint64_t tail)
{
	struct perf_event_mmap_page *page = p->pages;

	/* Release: pairs with the kernel's check for room; the frames were read before. */
	cp_store_release(&page->data_tail, tail);
}

uint64_t cp_perf_event_credit(struct cp_perf *p, uint64_t hits, uint64_t base_ns)
{
	uint64_t whole;

	p->credit += hits * p->period;
	whole = p->credit / base_ns;
	p->credit -= whole * base_ns;
	return whole;
}

/* The first event's first hit represents a period, of which it came after a part. Further hits of
 * the first event come after that part each. */
uint64_t cp_perf_event_weight(struct cp_perf *p, uint64_t hits)
{
	uint64_t weight = hits * (p->once ? p->first : p->period);

	if (p->once && !p->hit)
		weight += p->period - p->first;
	p->hit = true;
	return weight;
}

bool cp_perf_event_is_programs(int fd)
{
	long flags = cp_sys3(SYS_fcntl, fd, F_GETFL, 0);
	struct f_owner_ex owner = { 0 };

	if (flags < 0 || !(flags & O_ASYNC) || cp_sys3(SYS_fcntl, fd, F_GETSIG, 0) != SIGPROF)
		return false;
	/* A descriptor that signals another thread may belong to an event that the profiler is
	 * making just now. */
	cp_sys3(SYS_fcntl, fd, F_GETOWN_EX, &owner);
	return owner.type != F_OWNER_TID || owner.pid == cp_sys_gettid();
}
