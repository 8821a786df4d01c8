# SPDX-License-Identifier: BSD-3-Clause
# Names of functions that have no linkage name, as inlined C++ functions of one file: qualified by their namespaces and
# classes, lambdas told apart, and spelled as the demangler spells those that have one.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3 readelf
srcdir=$(cd "$srcdir" && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/tests/lib
cd "$work" || exit 1

# A profile with a sample at every byte of the program's code; the resulting names, one a line.
names() { # program
	set -- "$1" $(readelf -SW "$1" | sed -n 's/.* \.text *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/0x\1 0x\2/p')
	python3 - "$@" <<'END'
import sys
from pprof_build import Profile
p = Profile([("samples", "count")])
exe = p.mapping(sys.argv[1], known=False)
for offset in range(int(sys.argv[3], 16)):
    p.sample([p.location([], exe, int(sys.argv[2], 16) + offset)], [1])
p.write(sys.argv[1] + ".pb")
END
	"$cprof" symbolize -o "$1.full.pb" "$1.pb" || fail "$1: cprof symbolize failed"
	"$cprof" folded "$1.full.pb" | sed 's/ [0-9]*$//' | tr ';' '\n' | sort -u >"$1.names"
}

expect() { # program name...
	local program=$1 name
	shift
	for name; do
		grep -qxF -- "$name" "$program.names" || fail "$program: no \"$name\" among: $(tr '\n' ';' <"$program.names")"
	done
}

for way in "gcc:g++ -gdwarf-5" "gcc4:g++ -gdwarf-4" "split:g++ -gsplit-dwarf" "lto:g++ -flto" "clang:clang++ -gdwarf-5"; do
	name=${way%%:*} way=${way#*:}
	command -v "${way%% *}" >/dev/null || continue
	$way -O2 -g -o "$PWD/$name" "$srcdir/tests/e2e/tool-names-host.cc" || { fail "$way doesn't compile"; continue; }
	names "$PWD/$name"
	expect "$PWD/$name" svc::mix 'svc::(anonymous namespace)::hidden' 'svc::box<unsigned long>::spin' \
		'svc::box<svc::(anonymous namespace)::secret>::spin' 'svc::templated<unsigned short>' 'svc::templated<char const*>' \
		'svc::(anonymous namespace)::shelf<long long>::inner::turn' worker main
	[ $name = clang ] || expect "$PWD/$name" 'worker(int)::{lambda(unsigned int)#1}::operator()' \
		'worker(int)::{lambda(unsigned int)#2}::operator()' 'worker(int)::{lambda(char const*, unsigned long)#1}::operator()' \
		'main::{lambda(unsigned int)#1}::operator()' 'helper(long const*, char)::{lambda(unsigned int)#1}::operator()' \
		'helper(long const*, char)::{lambda(unsigned int)#1}::operator()(unsigned int) const::{lambda(unsigned int)#1}::operator()'
	grep -qxE 'mix|hidden|operator\(\)|templated.*' "$PWD/$name.names" && fail "$name: a name without its place"
done

# A lock in a variable is named by its member. Each is held by a thread that has ended, so that the wait for it runs out of time.
cat >locks.cc <<'END'
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <stdio.h>
#include <thread>
#include <time.h>

struct base { virtual ~base() {} long n; pthread_mutex_t first; };
struct derived : base { struct { int n; pthread_mutex_t lock; } part; };
namespace svc {
static struct { long n; pthread_mutex_t mu; std::condition_variable cv; } jobs;
derived all;
namespace { struct { char name[100]; pthread_mutex_t mu; } hidden; }
}
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, several[3];

static void wait_for(pthread_mutex_t *m)
{
	timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (end.tv_nsec += 2000000) >= 1000000000;
	end.tv_nsec %= 1000000000;
	std::thread([m] { pthread_mutex_lock(m); }).join();
	pthread_mutex_timedlock(m, &end);
}

int main()
{
	std::mutex m;
	std::unique_lock<std::mutex> l(m);

	svc::jobs.cv.wait_for(l, std::chrono::milliseconds(2));
	for (pthread_mutex_t *each : { &svc::jobs.mu, &svc::all.first, &svc::all.part.lock, &svc::hidden.mu, &plain, &several[2] })
		wait_for(each);
	printf("several+0x%zx\n", 2 * sizeof(*several));
}
END
for way in "g++ -gdwarf-5" "g++ -gdwarf-4" "clang++ -gdwarf-5"; do
	command -v "${way%% *}" >/dev/null || continue
	$way -O2 -pthread -o locks locks.cc || { fail "$way doesn't compile"; continue; }
	"$cprof" run -lock -o locks.pb ./locks >third 2>err || fail "$way: $(cat err)"
	"$cprof" locks locks.pb 2>/dev/null | sed -n 's/^condition //; s/: .* waits\?, .*//p' | sort | tr '\n' ' ' >got
	[ "$(cat got)" = "plain $(cat third) svc::(anonymous namespace)::hidden.mu svc::all.first svc::all.part.lock svc::jobs.cv svc::jobs.mu " ] ||
		fail "$way: locks are called $(cat got)"
done
finish
