# SPDX-License-Identifier: BSD-3-Clause
# Trap: one thread starts and stops profiling while another forks. The child has a copy of a session in any state: it
# must be able to start and to stop its own session.
. "$srcdir/tests/lib/e2e.sh"

ends_well bare forks timeout -s KILL 100 ./tests/traps/hosts/start-stop forks "$work"
[ ! -s "$work/forks.out" ] || fail "$(sort "$work/forks.out" | uniq -c)"
check_quiet forks
check_valid "$work/forks.pb"

# A start walks the loader's list of modules, under a lock that libc does not free in a fork's child. Here each step of a
# walk takes a while, so that most forks come during one: they wait for its end.
cat >"$work/slow.c" <<'END_OF_SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <time.h>

typedef int visit(struct dl_phdr_info *, size_t, void *);

struct walk {
	visit *each;
	void *arg;
};

static int linger(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct timespec while_locked = { 0, 20000 };
	const struct walk *w = arg;

	nanosleep(&while_locked, NULL);
	return w->each(info, size, w->arg);
}

int dl_iterate_phdr(visit *each, void *arg)
{
	int (*next)(visit *, void *) = (int (*)(visit *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	struct walk w = { each, arg };

	return next(linger, &w);
}
END_OF_SOURCE
$CC -shared -fPIC -o "$work/slow.so" "$work/slow.c" || exit 1
ends_well bare slow timeout -s KILL 60 env LD_PRELOAD="$CP_LIBRARY $work/slow.so" ./tests/traps/hosts/start-stop forks "$work"
[ ! -s "$work/slow.out" ] || fail "$(sort "$work/slow.out" | uniq -c)"
check_quiet slow
finish
