# SPDX-License-Identifier: BSD-3-Clause
# The heap mode for two minutes: its tables under ThreadSanitizer and AddressSanitizer; then a storm of
# threads, forks, reallocs and dlopen over each allocator, in exact mode, with samples looked up, and
# with samples told by their alignment. SECONDS_EACH: of each of the 14 runs.
. "$srcdir/tests/lib/heap.sh"
each=${SECONDS_EACH:-9}
# All that the tables may need; what they don't is left out of the program.
sources=$(find "$srcdir"/lib/{base,sample,unwind/signal,modes/heap/signal} -name '*.c')
echo 'int main(void) { return 0; }' >"$work/empty.c"

for sanitizer in thread address,undefined; do
	$CC -fsanitize=$sanitizer -o "$work/empty" "$work/empty.c" 2>"$work/cc.err" ||
		{ echo "no -fsanitize=$sanitizer here: $(head -n 1 "$work/cc.err")"; continue; }
	$CC -std=gnu11 -O1 -g -w -fsanitize=$sanitizer -ffunction-sections -fdata-sections -Wl,--gc-sections \
		-iquote "$srcdir/lib" -I"$srcdir/include" -I"$builddir" -DHAVE_CONFIG_H -D_GNU_SOURCE \
		-o "$work/tables" "$srcdir/tests/stress/heap-tables.c" $sources -lpthread 2>"$work/cc.err" ||
		{ fail "$sanitizer: the tables don't build: $(grep -m1 -iE 'error|undefined' "$work/cc.err")"; continue; }
	"$work/tables" "$each" >"$work/tables.out" 2>&1 || fail "$sanitizer: $(head -n 20 "$work/tables.out")"
done

$CC -O1 -fno-builtin -D_GNU_SOURCE -iquote "$srcdir/tests/lib" -o "$work/storm" "$srcdir/tests/stress/heap-storm.c" -lpthread -ldl || exit 1
cat >"$work/plugin.c" <<'END'
#include <stdlib.h>
int plugin_run(void)
{
	int n = 0;
	for (int i = 0; i < 50; i++) { void *volatile p = malloc(500); n += p != 0; free(p); }
	return n;
}
END
$CC -O1 -fno-builtin -shared -fPIC -o "$work/plugin.so" "$work/plugin.c" || exit 1
limit="timeout -s KILL $((each * 4 + 60))"
for allocator in $(allocators); do
	use_allocator "$allocator"
	for interval in 1 5000 64K; do
		CPROF_HEAP_INTERVAL=$interval CPROF_SYMBOLIZE=names runs_well heap_profiled storm "$work/storm" "$each" "$work/plugin.so"
		check_heap "$work/storm.pb"
		read -r objects _ live _ <<<"$(heap_values "$work/storm.pb" '(^|;)(make|work|plugin_run);')"
		echo "$allocator, interval $interval: $objects objects"
		[ "$objects" -gt 1000 ] || fail "$allocator, $interval: $objects objects"
		[ "$live" = 0 ] || fail "$allocator, $interval: $live objects in use at the end"
		check_comment "$work/storm.pb" '; 0 frees that were not seen'
		rm -f "$work"/storm.pb*
	done
done
finish
