# SPDX-License-Identifier: BSD-3-Clause
# Programs that are linked statically with libcprof.a: each mode, by variables, by the API and by cprof run, as C and C++,
# at a fixed place and anywhere (static-pie). make static-check runs the traps so.
. "$srcdir/tests/lib/e2e.sh"
archive=$builddir/libcprof.a
[ -e "$archive" ] || skip "libcprof.a is not built: no static libc"
sources=$(cd "$srcdir" && pwd)
host=$sources/tests/e2e/static-host.c

link() { # name compiler...
	local to=$work/$1
	shift
	"$@" -O1 -g -fno-builtin -pthread -D_GNU_SOURCE -I"$sources/include" -I"$sources/tests/lib" -o "$to" "$host" -x none \
		"$archive" "-Wl,@$builddir/libcprof.options" 2>"$to.link"
}

see_stacks() { # name
	check_stack "$1.cpu.pb" 'burn.*;before_main;'
	check_stack "$1.cpu.pb" 'burn.*;after_main;'
	check_stack "$1.cpu.pb" 'burn.*;holds;start_thread'
	check_stack "$1.cpu.pb" 'burn.*;work;main;'
	check_stack "$1.wall.pb" 'wait=lock.*;waits_for_lock;work;main'
	check_stack "$1.heap.pb" 'leaks;work;main'
	check_stack "$1.heap.pb" '^1,3145728,0,.*	before_main;'
	check_no_stack "$1.heap.pb" '^0,0,[1-9].*before_main'
	check_stack "$1.lock.pb" 'pthread_mutex_lock;waits_for_lock;work;main'
	check_stack "$1.lock.holders.pb" ';?holds;start_thread'
	check_stack "$1.io.pb" 'op=read,kind=file.*read;reads_file;work;main'
	# Of fork's child, and of the next program.
	for file in "$1".cpu.pb.*; do "$pprof_check" --raw "$file"; done >"$work/others"
	grep -qE 'burn.*;has_child;work' "$work/others" || fail "$1: no file has fork's child: $(ls "$1"*)"
	# libcprof's own functions are in none.
	for mode in wall heap lock io; do
		check_no_stack "$1.$mode.pb" '(cp_[a-z_]*|measured_[a-z_]*|__wrap_[a-z_]*);'
	done
}

cd "$work" || exit
export CPROF_CHECKPOINT=0 CPROF_HEAP_INTERVAL=16K CPUPROFILE_FREQUENCY=1000
for kind in c pie c++ lld; do
	[ $kind != lld ] || type -P ld.lld >/dev/null || continue
	case $kind in
	c) link c $CC -static ;;
	pie) link pie $CC -static-pie ;;
	c++) link c++ $CXX -x c++ -static ;;
	lld) link lld $CC -static -fuse-ld=lld ;;
	esac || { fail "$kind doesn't link: $(head -n 5 "$kind.link")"; continue; }
	[ ! -s "$kind.link" ] || fail "$kind: the linker says $(head -n 5 "$kind.link")"
	runs_well bare "bare-$kind" "./$kind"
	runs_well bare "$kind" env CPUPROFILE="$kind.cpu.pb" WALLPROFILE="$kind.wall.pb" HEAPPROFILE="$kind.heap.pb" \
		LOCKPROFILE="$kind.lock.pb" IOPROFILE="$kind.io.pb" EVENTPROFILE="$kind.event.pb" "./$kind"
	check_same_output "$kind" "bare-$kind"
	for mode in cpu wall heap lock io event; do check_valid_as $mode "$kind.$mode.pb"; done
	see_stacks "$kind"
	runs_well bare "api-$kind" "./$kind" api "api-$kind.pb"
	check_valid "api-$kind.pb"
	check_stack "api-$kind.pb" 'part=labelled.*burn.*;work;'
done

# Rust's library refers to some of libc's functions weakly.
cat >rust.rs <<'END'
#[inline(never)]
fn burns() -> u64 { (0..200_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i)) }
fn main() {
    let caught = std::panic::catch_unwind(|| panic!("on purpose")).is_err();
    println!("{} {}", caught, std::thread::spawn(burns).join().unwrap());
}
END
if type -P rustc >/dev/null && rustc -O -C target-feature=+crt-static -C link-arg="$archive" \
	-C link-arg="-Wl,@$builddir/libcprof.options" rust.rs 2>rust.link; then
	runs_well bare rust env CPUPROFILE=rust.pb ./rust
	grep -q '^true' rust.out || fail "rust: $(cat rust.out)"
	check_valid rust.pb
	check_stack rust.pb 'burns'
elif grep -q 'undefined' rust.link 2>/dev/null; then
	fail "rust: $(grep undefined rust.link | head -n 3)"
fi

# An allocator of the program's own, without the functions that few programs call.
cat >own.c <<'END'
#include <string.h>
static _Alignas(16) char room[1 << 22];
static size_t used;
void *malloc(size_t size)
{
	size_t *p = (size_t *)&room[used];
	used += (size + 31) & -16UL;
	return used <= sizeof(room) ? (*p = size, p + 2) : NULL;
}
void free(void *p)
{
}
void *calloc(size_t n, size_t each)
{
	return malloc(n * each);
}
void *realloc(void *p, size_t size)
{
	void *to = malloc(size);
	return p && to ? memcpy(to, p, ((size_t *)p)[-2] < size ? ((size_t *)p)[-2] : size) : to;
}
END
# Calls within a file are not the linker's.
cat >calls_own.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	void *volatile kept = malloc(1 << 20);
	return fopen("/dev/null", "r") && kept ? 0 : 1;
}
END
if $CC -O1 -fno-builtin -static -o own calls_own.c own.c "$archive" "-Wl,@$builddir/libcprof.options" 2>own.link; then
	runs_well bare own env HEAPPROFILE=own.pb ./own
	check_valid_as heap own.pb
	check_stack own.pb '1048576.*main'
else
	fail "an allocator of the program's own: $(head -n 3 own.link)"
fi

# The linker describes no code of the stubs by which the program calls strlen, and gives them no names.
cat >stub.c <<'END'
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static unsigned long measures(const char *s)
{
	return strlen(s) + 1;
}
int main(void)
{
	unsigned long sum = 0;
	for (long i = 0; i < 200000000; i++)
		sum += measures(&"text"[i & 1]);
	return sum == 900000000 ? 0 : 1;
}
END
for linked in -static -static-pie '-static -fuse-ld=lld'; do
	[[ $linked != *lld ]] || type -P ld.lld >/dev/null || continue
	# shellcheck disable=SC2086
	$CC -O1 -fno-builtin $linked -o stub stub.c "$archive" "-Wl,@$builddir/libcprof.options" || fail "stub $linked is not built"
	runs_well bare stub env CPUPROFILE=stub.pb ./stub
	check_valid stub.pb
	check_no_stack stub.pb 'incomplete'
	check_stack stub.pb 'strlen@plt;measures;main'
	check_no_stack stub.pb '[+]0x[0-9a-f]*;measures'
done

# A clock of the program's own, which takes a lock.
if $CC -O1 -static -pthread -D_GNU_SOURCE -I"$sources/include" -I"$sources/tests/lib" -o own_clock "$sources/tests/traps/lock_own_clock/host.c" \
	"$archive" "-Wl,@$builddir/libcprof.options" 2>own_clock.link; then
	runs_well bare own_clock env LOCKPROFILE=own_clock.pb ./own_clock
	check_valid_as lock own_clock.pb
else
	fail "a clock of the program's own: $(head -n 3 own_clock.link)"
fi

# The linker says what is missing.
if $CC -static -pthread -D_GNU_SOURCE -I"$sources/include" -I"$sources/tests/lib" -o without "$host" "$archive" 2>without.err; then
	fail "it links without the options"
fi
grep -q 'libcprof_is_linked_with_the_options_of_pkg_config_static' without.err || fail "without the options: $(head -n 3 without.err)"
for with in bfd lld gold; do
	type -P ld.$with >/dev/null || continue
	if $CC -fuse-ld=$with -o without calls_own.c -L"${CP_LIBRARY%/*}" -lcprof "-Wl,@$builddir/libcprof.options" 2>without.err; then
		fail "$with: it links without -static"
	fi
	grep -q 'the_options_of_pkg_config_static_for_libcprof_are_for_programs_linked_with_static' without.err ||
		fail "$with: without -static: $(head -n 3 without.err)"
done

# A function of the program's own by the name of one of libc's is the program's with this change of the options.
cat >calls_splice.c <<'END'
#include <stdio.h>
double splice(double a, double b);
int main(void)
{
	return splice(1, 2) == 3 && !fopen("/nowhere", "r") ? 0 : 1;
}
END
echo 'double splice(double a, double b) { return a + b; }' >splice.c
sed 's/^--wrap=splice .*/--defsym=__real_splice=0/' "$builddir/libcprof.options" >changed.options
for linked in -static -static-pie; do
	$CC $linked -o spliced calls_splice.c splice.c "$archive" -Wl,@changed.options || fail "spliced $linked is not built"
	runs_well bare spliced env IOPROFILE=spliced.pb ./spliced
	check_valid_as io spliced.pb
done

# The tool knows such a program, without its symbols, too.
if [ -x "$cprof" ]; then
	strip -o stripped c
	"$cprof" run -o run.pb ./stripped >run.out 2>run.err || fail "run: status $?"
	check_valid run.pb
	grep -q 'statically linked' run.err && fail "run: $(cat run.err)"
	CPROF_CONTROL=on ./c spin &
	pid=$!
	children="$children $pid"
	wait_for 20 "$cprof" start -cpu -o asked.pb $pid || fail "start: $("$cprof" start -cpu -o asked.pb $pid 2>&1)"
	wait_for 20 "$cprof" dump -o dumped.pb $pid || fail "dump: $("$cprof" dump -o dumped.pb $pid 2>&1)"
	check_valid dumped.pb
	kill $pid
	reap $pid
	# Attach is for x86_64.
	if [ "$(uname -m)" = x86_64 ]; then
		CPROF_CONTROL=off ./c spin &
		pid=$!
		children="$children $pid"
		"$cprof" attach $pid 2>attach.err && fail "attach takes a static program"
		grep -q 'static program with libcprof.a' attach.err || fail "attach: $(cat attach.err)"
		kill $pid
		reap $pid
	fi
fi
finish
