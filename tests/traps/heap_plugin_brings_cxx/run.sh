# SPDX-License-Identifier: BSD-3-Clause
# Trap: a C program loads a plugin in C++ for itself alone, and with it the C++ library, which isn't in the
# scope where operator new is looked up next; unloaded again, its stacks keep their names.
. "$srcdir/tests/lib/heap.sh"

[ -n "${CXX:-}" ] || skip "no C++ compiler"
cat >"$work/plugin.cc" <<'END'
#include <map>
#include <new>
#include <string>
__attribute__((noinline)) static int fill()
{
	std::map<int, std::string> m;
	for (int i = 0; i < 1000; i++)
		m[i] = std::string(100, 'x');
	try {
		volatile std::size_t more = (std::size_t)1 << 62;
		char *volatile p = new char[more];
		delete[] p;
	} catch (const std::bad_alloc &) {
		m[-1] = "caught";
	}
	return (int)m.size();
}
extern "C" int plugin_run() { return fill() + 1; }
END
$CXX -O1 -w -shared -fPIC -o "$work/plugin.so" "$work/plugin.cc" || skip "no C++ library"
for allocator in $(allocators); do
	use_allocator "$allocator"
	# Built in C, mimalloc answers a new that fails with abort().
	bare plain env LD_PRELOAD="$ALLOCATOR" ./tests/traps/hosts/heap-odd plugin "$work/plugin.so"
	plain_status=$status
	for interval in 1 64K; do
		CPROF_HEAP_INTERVAL=$interval heap_profiled plugin ./tests/traps/hosts/heap-odd plugin "$work/plugin.so"
		check_ended plugin $plain_status plain
		check_heap "$work/plugin.pb"
	done
	[ "$plain_status" = 0 ] || continue
	CPROF_HEAP_INTERVAL=1 heap_profiled plugin ./tests/traps/hosts/heap-odd plugin "$work/plugin.so"
	check_stack "$work/plugin.pb" 'fill;plugin_run;plugin;'
	read -r objects _ live _ <<<"$(heap_values "$work/plugin.pb" 'fill;plugin_run')"
	[ "$objects" -ge 2000 ] || fail "$allocator: $objects objects"
	[ "$live" -le 8 ] || fail "$allocator: $live in use" # what exceptions keep
done
finish
