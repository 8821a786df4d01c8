/* SPDX-License-Identifier: BSD-3-Clause */
/* Room for samples on alternate stacks; see host_signal.h. */
#include "host/signal/host_signal.h"

#include <errno.h>

#include "base/sys.h"

/* An alternate stack of the program of this size has room for two frames and an ordinary handler (a
 * frame takes 11 KiB on processors with the most registers). The profiler's stack is twice that
 * size. */
#define LARGE ((size_t)128 << 10)
#define SIZE (2 * LARGE)
/* Size of the small stack below it on which the alternate stack is changed: the kernel refuses the
 * change on the alternate stack itself. */
#define AWAY ((size_t)4096)

struct change {
	stack_t to;
	bool done;
};

static bool stack_holds(const void *low, size_t size, uint64_t address)
{
	return address - (uintptr_t)low < size;
}

static struct cp_thread *own_thread(void)
{
	const struct cp_self *self = cp_thread_libc_self();
	struct cp_thread *t = self ? self->thread : NULL;

	/* A clone that shares its maker's TLS has its maker's record. */
	return t && cp_load_relaxed(&t->tid) == cp_sys_gettid() ? t : NULL;
}

static void change_away(void *arg)
{
	struct change *c = arg;

	c->done = cp_sys2(SYS_sigaltstack, &c->to, NULL) == 0;
}

/* Make LOW the calling thread's alternate stack in the kernel. All signals are blocked. */
static bool change_altstack(const struct cp_thread *t, void *low, uint64_t size)
{
	struct change c = { { .ss_sp = low, .ss_size = size }, false };

	cp_call_on_stack(change_away, &c, t->alternate);
	return c.done;
}

/* Give the thread the profiler's alternate stack in place of FROM, the program's. */
static bool make_room(struct cp_thread *t, const stack_t *from)
{
	char *mapped;

	if (!t->alternate) {
		mapped = cp_sys_map(AWAY + SIZE);
		t->alternate = mapped ? mapped + AWAY : NULL;
	}
	if (!t->alternate)
		return false;
	t->alternate_low = from->ss_sp;
	t->alternate_size = from->ss_size;
	return change_altstack(t, t->alternate, SIZE);
}

struct cp_altstack cp_altstack_of(const ucontext_t *uc)
{
	const stack_t *s = &uc->uc_stack;
	struct cp_altstack is = { (uintptr_t)s->ss_sp, s->ss_size, false };
	const struct cp_thread *t;

	if (s->ss_flags & SS_DISABLE)
		return (struct cp_altstack){ 0 };
	is.disarms = ((unsigned)s->ss_flags & SS_AUTODISARM) != 0;
	t = own_thread();
	if (t && t->alternate && s->ss_sp == t->alternate) {
		is.low = (uintptr_t)t->alternate_low;
		is.size = t->alternate_size;
	}
	return is;
}

bool cp_altstack_begin(const ucontext_t *context, stack_t *now)
{
	const stack_t *s = &context->uc_stack;
	struct cp_thread *t;

	if (s->ss_size >= LARGE || !stack_holds(s->ss_sp, s->ss_size, (uintptr_t)context))
		return true;
	t = (unsigned)s->ss_flags & SS_AUTODISARM ? NULL : own_thread();
	if (!t || !make_room(t, s))
		return false;
	now->ss_sp = t->alternate;
	now->ss_size = SIZE;
	return true;
}

void cp_altstack_see(const struct cp_thread *t, ucontext_t *uc)
{
	struct cp_regs regs;
	uint64_t sp;

	if (!t->alternate || uc->uc_stack.ss_sp != t->alternate || t->alternate_invalid)
		return;
	cp_regs_of_context(&regs, uc);
	sp = regs.r[CP_REG_SP];
	if (stack_holds(t->alternate, SIZE, sp) ||
	    stack_holds(t->alternate_low, t->alternate_size, sp))
		return;
	/* The change is made both at once and by the handler's return. Which of the two takes
	 * effect, and which stack pointer the kernel uses to check whether the thread is on the
	 * profiler's stack, depends on the kernel's version. */
	if (!change_altstack(t, t->alternate_low, t->alternate_size))
		return;
	uc->uc_stack.ss_sp = t->alternate_low;
	uc->uc_stack.ss_size = t->alternate_size;
}

void cp_altstack_see_own(ucontext_t *uc)
{
	const struct cp_thread *t = uc->uc_stack.ss_flags & SS_DISABLE ? NULL : own_thread();

	if (t)
		cp_altstack_see(t, uc);
}

struct cp_altstack_bounds cp_altstack_bounds = { UINT64_MAX, 0 };

void cp_altstack_note(const stack_t *ss)
{
	uint64_t low = (uintptr_t)ss->ss_sp, high = low + ss->ss_size;
	uint64_t was = cp_load_relaxed(&cp_altstack_bounds.low);

	while (low < was && !cp_cas_acqrel(&cp_altstack_bounds.low, &was, low))
		;
	was = cp_load_relaxed(&cp_altstack_bounds.high);
	while (high > was && !cp_cas_acqrel(&cp_altstack_bounds.high, &was, high))
		;
}

static bool kernel_has_ours(const struct cp_thread *t, stack_t *now)
{
	return cp_sys2(SYS_sigaltstack, NULL, now) == 0 && t->alternate &&
	       now->ss_sp == t->alternate;
}

/* Return the error for a thread that is on its alternate stack. */
static long refuse_altstack(const stack_t *ss)
{
	stack_t copy;

	return cp_sys_peek(&copy, (uintptr_t)ss, sizeof(copy)) == -EFAULT ? -EFAULT : -EPERM;
}

/* Only the kernel reads *SS, and it writes *OLD first, because both may be bad addresses. */
long cp_altstack_change(const stack_t *ss, stack_t *old)
{
	struct cp_thread *t = own_thread();
	stack_t now = { .ss_sp = NULL }, programs;
	bool there;
	long r = 0;

	if (!t || !kernel_has_ours(t, &now))
		return cp_sys2(SYS_sigaltstack, ss, old);
	there = stack_holds(t->alternate_low, t->alternate_size, (uintptr_t)&now);
	programs = (stack_t){ .ss_sp = t->alternate_low,
			      .ss_size = t->alternate_size,
			      .ss_flags = there ? SS_ONSTACK : now.ss_flags };
	if (ss)
		r = there ? refuse_altstack(ss) : cp_sys2(SYS_sigaltstack, ss, NULL);
	if (ss && !r)
		t->alternate_invalid = false;
	if (old && !r)
		r = cp_sys2(SYS_sigaltstack, NULL, old);
	if (old && !r)
		*old = programs;
	return r;
}

static bool overlaps(const void *low, uint64_t size, const void *at, size_t n)
{
	return (uintptr_t)at < (uintptr_t)low + size && (uintptr_t)low < (uintptr_t)at + n;
}

static void invalidate(struct cp_thread *t, const void *at, size_t size)
{
	stack_t now = { .ss_sp = NULL };

	if (kernel_has_ours(t, &now))
		t->alternate_invalid |= overlaps(t->alternate_low, t->alternate_size, at, size);
	else if (!(now.ss_flags & SS_DISABLE) && overlaps(now.ss_sp, now.ss_size, at, size))
		t->alternate_invalid = make_room(t, &now);
}

static void revalidate(struct cp_thread *t, const void *at, size_t size)
{
	if (t->alternate_invalid && (uintptr_t)at <= (uintptr_t)t->alternate_low &&
	    (uintptr_t)t->alternate_low + t->alternate_size <= (uintptr_t)at + size)
		t->alternate_invalid = !change_altstack(t, t->alternate_low, t->alternate_size);
}

static void with_signals_blocked(void (*what)(struct cp_thread *, const void *, size_t),
				 const void *at, size_t size)
{
	struct cp_thread *t = own_thread();
	uint64_t all = CP_SIGSET_ALL, old;

	if (!t)
		return;
	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	what(t, at, size);
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
}

void cp_altstack_invalidate(const void *at, size_t size)
{
	with_signals_blocked(invalidate, at, size);
}

void cp_altstack_revalidate(const void *at, size_t size)
{
	with_signals_blocked(revalidate, at, size);
}
