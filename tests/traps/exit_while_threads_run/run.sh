# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program exits while its threads run. They use what the destructors of static objects destroy,
# which goes well for the moment that an exit takes, and doesn't while a profile is written: it is written first.
. "$srcdir/tests/lib/e2e.sh"

[ -n "${CXX:-}" ] || skip "no C++ compiler"
cat >"$work/host.cc" <<'END2'
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
static struct shared {
	~shared()
	{
		const char *path = std::getenv("CPUPROFILE");
		if (path && access(path, F_OK))
			_exit(9);
	}
} shared;
static void *use(void *)
{
	for (;;)
		pause();
}
int main()
{
	pthread_t t;
	pthread_create(&t, nullptr, use, nullptr);
	for (volatile long i = 0; i < 100000000; i++)
		;
	return 3;
}
END2
$CXX -O1 -w -o "$work/host" "$work/host.cc" -pthread || skip "no C++ library"
profiled host "$work/host"
check_status host 3
check_valid "$work/host.pb"

# Where none runs any longer, what destructors do is in the profile.
cat >"$work/joined.cc" <<'END2'
#include "host.h"
static struct object {
	__attribute__((noinline, noclone)) ~object()
	{
		burn_and_tick(0.25);
		__asm__ volatile("");
	}
} object;
static void *nothing(void *arg)
{
	return arg;
}
int main()
{
	pthread_t t;
	pthread_create(&t, nullptr, nothing, nullptr);
	pthread_join(t, nullptr);
}
END2
$CXX -O1 -w -I"$srcdir/tests/lib" -o "$work/joined" "$work/joined.cc" -pthread || fail "not built"
ends_well profiled joined "$work/joined"
check_valid "$work/joined.pb"
check_stack "$work/joined.pb" 'object::~object'
finish
