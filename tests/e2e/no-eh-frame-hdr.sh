# SPDX-License-Identifier: BSD-3-Clause
# A program and a library whose linker made no table of their call frame information (ld --no-eh-frame-hdr), and one that
# is loaded later: their stacks are whole, because we make the tables.
. "$srcdir/tests/lib/e2e.sh"

cat >"$work/lib.c" <<'END'
volatile unsigned long sink;
__attribute__((noinline)) void NAME(hot)(unsigned long n) { while (n--) sink += n; }
__attribute__((noinline)) void NAME(middle)(unsigned long n) { NAME(hot)(n); sink++; }
void NAME(entry)(unsigned long n) { NAME(middle)(n); sink++; }
END
cat >"$work/main.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
void linked_entry(unsigned long);
void program_entry(unsigned long);
static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }
static __attribute__((noinline)) void run(void (*f)(unsigned long), double seconds)
{
	double until = cpu() + seconds;
	while (cpu() < until)
		f(100000);
}
int main(int argc, char **argv)
{
	void (*loaded)(unsigned long) = NULL;
	void *lib = dlopen(argv[1], RTLD_NOW);
	if (!lib)
		return puts(dlerror()), 3;
	*(void **)&loaded = dlsym(lib, "loaded_entry");
	run(linked_entry, 0.5);
	run(program_entry, 0.5);
	run(loaded, 3); /* a second or so goes by until it is known */
	return 0;
}
END
flags="-O2 -fomit-frame-pointer -fPIC -Wl,--no-eh-frame-hdr"
name() { # name
	echo "-DNAME(x)=$1_##x"
}
$CC $flags -shared "$(name linked)" -o "$work/liblinked.so" "$work/lib.c" &&
	$CC $flags -shared "$(name loaded)" -o "$work/libloaded.so" "$work/lib.c" &&
	$CC $flags "$(name program)" -o "$work/program" "$work/main.c" "$work/lib.c" "$work/liblinked.so" \
		-Wl,-rpath,"$work" -ldl || skip "the linker does not take --no-eh-frame-hdr"
"$READELF" -lW "$work/program" | grep -q GNU_EH_FRAME && skip "the linker writes a table nevertheless"

CPUPROFILE_FREQUENCY=200 profiles_well profiled tables "$work/program" "$work/libloaded.so"
for one in linked program loaded; do
	check_stack "$work/tables.pb" "${one}_hot;${one}_middle;${one}_entry;run;main;"
done
# Modules that were linked are known from the start.
check_no_stack "$work/tables.pb" "(linked|program)_hot.*\[incomplete\]"
finish
