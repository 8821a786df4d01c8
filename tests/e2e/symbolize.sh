# SPDX-License-Identifier: BSD-3-Clause
# cprof symbolize: every way in which debug information is stored gives the same functions, lines and
# inlined calls, and pprof shows them with the program moved away.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" go objcopy strip readelf
host=$(cd "$srcdir" && pwd)/tests/e2e/symbolize-host.c
export CPUPROFILE_FREQUENCY=250 CPROF_SYMBOLIZE=names PPROF_BINARY_PATH=/nowhere

compile() { # name flags...
	mkdir -p "$work/$1.d"
	(cd "$work/$1.d" && $CC -O2 "${@:2}" -o "$work/$1" "$host") || fail "$1 doesn't compile"
}

sample() { # name
	ends_well profiled "$1" "$work/$1"
	check_valid "$work/$1.pb"
	if go tool pprof -traces "$work/$1.pb" 2>&1 | grep -q '(inline)'; then
		fail "$1: inlined calls before they were looked for"
	fi
}

# Where the host calls what is inlined, and where that is.
line_of() { # text
	grep -nF -- "$1" "$host" | sed 's/:.*//;q'
}
call=$(line_of 's = twice(s)') mix=$(line_of 'unsigned mix(unsigned')

# mix (inline), twice (inline), burn, main in this order; lines of the source.
check_lines() { # name
	local to=$work/$1.full.pb

	check_valid "$to"
	go tool pprof -traces "$to" 2>/dev/null | tr -s ' \n' ' ' |
		grep -q 'mix (inline) twice (inline) burn main ' ||
		fail "$1: inlined calls are not there: $(go tool pprof -traces "$to" 2>&1 | grep -m1 -A3 burn)"
	go tool pprof -list '^burn$' "$to" 2>/dev/null | grep -q " $call:.*s = twice(s)" ||
		fail "$1: burn's source is not listed"
	go tool pprof -top -lines "$to" 2>/dev/null | grep -qE "mix .*symbolize-host.c:($((mix + 2))|$((mix + 3))|$((mix + 4)))\b" ||
		fail "$1: mix has no lines"
	go tool pprof -raw "$to" 2>/dev/null | grep -q "/$1 .*\[FN\]\[FL\]\[LN\]\[IN\]" ||
		fail "$1: its mapping doesn't say what it has"
}

full() { # name options...
	"$cprof" symbolize -o "$work/$1.full.pb" "${@:2}" "$work/$1.pb" || fail "$1: cprof symbolize failed"
}

# In the program itself.
ways="dwarf5:-gdwarf-5 dwarf4:-gdwarf-4 dwarf3:-gdwarf-3 zlib:-gz=zlib old-zlib:-gz=zlib-gnu pie-less:-no-pie"
for way in $ways; do
	name=${way%%:*}
	[ "$name" = old-zlib ] && $CC --version | grep -q clang && continue
	compile "$name" -g "${way#*:}"
	sample "$name"
	full "$name"
	mv "$work/$name" "$work/away"
	check_lines "$name"
done

# Compressed by zstd, if the linker can; without libzstd, or with damaged sections, the reason is said.
zstd=-Wl,--compress-debug-sections=zstd
if /sbin/ldconfig -p | grep -q 'libzstd\.so\.1' && echo 'int main(void) { return 0; }' | $CC $zstd -o "$work/tried" -xc - 2>/dev/null; then
	compile zstd -g -Wl,--build-id=sha1 $zstd
	readelf -St "$work/zstd" | grep -q COMPRESSED || fail "zstd: the linker compressed nothing"
	sample zstd
	full zstd
	check_lines zstd
	LC_ALL=C sed -i 's/\x28\xb5\x2f\xfd/\x28\xb5\x2f\xfe/g' "$work/zstd"
	"$cprof" symbolize -o "$work/out.pb" "$work/zstd.pb" 2>"$work/err" || fail "zstd, damaged: status $?"
	grep -q "no lines for $work/zstd: its debug information is compressed by zstd, and libzstd" "$work/err" || fail "zstd, damaged: $(cat "$work/err")"
fi

# The index of units by address saves time and decides nothing: without it, with one that leads to no unit, and with
# bytes that are no index, the result is the same.
compile index -g
sample index
full index
check_lines index
go tool pprof -traces "$work/index.full.pb" >"$work/index.want" 2>&1
cp "$work/index" "$work/index.whole"
objcopy -O binary --only-section=.debug_aranges --set-section-flags .debug_aranges=alloc "$work/index" "$work/aranges"
[ -s "$work/aranges" ] || fail "the compiler wrote no index"
for change in none nowhere broken; do
	cp "$work/aranges" "$work/changed"
	case $change in
	none) objcopy --remove-section .debug_aranges "$work/index.whole" "$work/index" ;;
	nowhere) printf '\001\002\003' | dd of="$work/changed" bs=1 seek=6 conv=notrunc 2>/dev/null ;;
	broken) tr '\000' '\377' <"$work/aranges" >"$work/changed" ;;
	esac
	[ $change = none ] || objcopy --update-section .debug_aranges="$work/changed" "$work/index.whole" "$work/index"
	full index
	go tool pprof -traces "$work/index.full.pb" 2>&1 | cmp -s - "$work/index.want" || fail "with the index changed ($change) the result is another"
done

# A program from another compiler: without .debug_aranges, with indexed addresses and texts.
if command -v clang >/dev/null; then
	for version in 4 5; do
		CC=clang compile "clang$version" "-gdwarf-$version"
		sample "clang$version"
		full "clang$version"
		check_lines "clang$version"
	done
fi

# In .dwo files, found where they were written and beside the program; then in a package.
for version in 4 5; do
	for compiler in gcc clang; do
		name=split-$compiler$version
		command -v $compiler >/dev/null || continue
		CC=$compiler compile "$name" -g -gsplit-dwarf "-gdwarf-$version"
		sample "$name"
		full "$name"
		check_lines "$name"
		# (Each packager can do its own compiler's; binutils' no DWARF 5.)
		packager=llvm-dwp
		[ $compiler = gcc ] && packager=dwp
		[ $name = split-gcc5 ] && packager=none
		if command -v $packager >/dev/null; then
			(cd "$work/$name.d" && $packager -e "$work/$name" -o "$work/$name.dwp") || fail "$packager"
			rm -rf "$work/$name.d"
			full "$name"
			check_lines "$name"
		fi
	done
done

# Stripped, with the debug file elsewhere: by build id, by debuglink.
compile stripped -g -Wl,--build-id=sha1
objcopy --only-keep-debug "$work/stripped" "$work/stripped.debug"
strip --strip-debug "$work/stripped"
sample stripped
id=$(readelf -n "$work/stripped" | sed -n 's/.*Build ID: //p')
mkdir -p "$work/root/.build-id/${id:0:2}"
cp "$work/stripped.debug" "$work/root/.build-id/${id:0:2}/${id:2}.debug"
full stripped --debug-dir "$work/root"
check_lines stripped
mv "$work/stripped" "$work/away"
full stripped --debug-dir "$work/none" --debug-dir "$work/root"
check_lines stripped

# The program or its debug file in a directory, by name or at its path below an image's root. What has no lines is said.
unprivileged=()
no_lines() { # name regex options...
	"${unprivileged[@]}" "$cprof" symbolize -o "$work/out.pb" "${@:3}" "$work/$1.pb" 2>"$work/err" || fail "$1: $2: status $?"
	grep -qE "^cprof symbolize: no lines for $work/$1: $2" "$work/err" && [ "$(wc -l <"$work/err")" = 1 ] ||
		fail "$1: no \"$2\" in $(cat "$work/err")"
}
compile moved -g -Wl,--build-id=sha1
sample moved
full moved 2>"$work/err"
[ -s "$work/err" ] && fail "moved: says $(cat "$work/err")"
mkdir -p "$work/bin" "$work/stripped.d" "$work/kept" "$work/debug" "$work/image$work"
mv "$work/moved" "$work/bin/"
no_lines moved 'no such file, and no file with its build id [0-9a-f]{40} was found; try -debug-dir=DIR$'
strip -o "$work/stripped.d/moved" "$work/bin/moved"
no_lines moved 'it has no debug information .*, and no debug file was found by build id or in -debug-dir$' --debug-dir "$work/stripped.d"
cp "$work/bin/moved" "$work/image$work/moved"
objcopy --only-keep-debug "$work/bin/moved" "$work/kept/moved"
objcopy --only-keep-debug "$work/bin/moved" "$work/debug/moved.debug"
for dir in bin image kept debug; do
	rm -f "$work/moved.full.pb"
	full moved --debug-dir "$work/stripped.d" --debug-dir "$work/$dir" 2>"$work/err"
	[ -s "$work/err" ] && fail "moved, $dir: says $(cat "$work/err")"
	check_lines moved
done
# A file that may not be read is there. Without capabilities, not even root may read it.
[ "$(id -u)" != 0 ] || unprivileged=(setpriv --inh-caps=-all --bounding-set=-all)
if [ "$(id -u)" != 0 ] || command -v setpriv >/dev/null; then
	chmod 0 "$work/bin/moved"
	no_lines moved "$work/bin/moved can't be read: Permission denied\$" --debug-dir "$work/bin"
	chmod 755 "$work/bin/moved"
fi
unprivileged=()
compile moved -g -DOTHER -O1 -Wl,--build-id=sha1
no_lines moved 'the file is another build, and no file with its build id '
cp "$work/moved" "$work/kept/moved"
no_lines moved 'the file is another build, and no file ' --debug-dir "$work/kept"
compile nameless -g -Wl,--build-id=none
sample nameless
mv "$work/nameless" "$work/bin/"
no_lines nameless 'no such file, and it has no build id' --debug-dir "$work/bin"

# GCC splits work's rare part off and inlines it again; that is one call. Calls that recursion makes are kept.
cat >"$work/parts.c" <<'END'
#include <stddef.h>
volatile unsigned sink;
unsigned long table[64];
__attribute__((noinline)) void spin(unsigned n)
{
	while (n--)
		sink += n;
}
void *work(unsigned n)
{
	if (n > 100000000)
		return NULL;
	for (int i = 0; i < 20; i++) {
		spin(n);
		table[i] += sink;
	}
	return table;
}
void *again(unsigned n)
{
	return work(n * 2);
}
__attribute__((noinline)) static void *recurs(unsigned n)
{
	void *all = n ? recurs(n - 1) : again(1000000);

	sink++;
	return all;
}
int main(void)
{
	for (int i = 0; i < 4; i++)
		if (!work(2000000) || !recurs(3))
			return 1;
	return 0;
}
END
$CC -O2 -g -o "$work/parts" "$work/parts.c" || fail "parts doesn't compile"
sample parts
full parts
"$pprof_check" --raw "$work/parts.full.pb" >"$work/parts.raw"
grep -q 'spin[^;]*;work;main' "$work/parts.raw" || fail "parts: no spin;work;main: $(head -n 5 "$work/parts.raw")"
grep 'work;work' "$work/parts.raw" && fail "parts: work is there twice"
grep -q 'recurs[^;]*;recurs' "$work/parts.raw" || fail "parts: recursion was left out: $(head -n 5 "$work/parts.raw")"

# A function inside another one that is on no stack.
cat >"$work/nested.c" <<'END'
volatile unsigned sink;
/* Nearly all instructions are its own: on which of two neighbours a sample falls, the processor decides. */
static inline __attribute__((always_inline)) void step(unsigned n)
{
	sink += n, sink ^= n, sink += n, sink ^= n, sink += n, sink ^= n, sink += n, sink ^= n;
}
unsigned (*outer(void))(unsigned)
{
	__attribute__((noinline)) unsigned inner(unsigned n)
	{
		while (n--)
			step(n);
		return sink;
	}
	return inner;
}
int main(void)
{
	return outer()(25000000) == 1;
}
END
if $CC -O2 -g -o "$work/nested" "$work/nested.c" 2>/dev/null; then
	sample nested
	full nested
	"$pprof_check" --raw "$work/nested.full.pb" >"$work/nested.raw"
	grep -q 'step;inner[^;]*;main' "$work/nested.raw" || fail "nested: no step;inner;main: $(head -n 5 "$work/nested.raw")"
fi

# From a server, but only where one is named.
if command -v python3 >/dev/null && ldconfig -p 2>/dev/null | grep -q 'libdebuginfod\.so\.1'; then
	mkdir -p "$work/served/buildid/$id"
	cp "$work/stripped.debug" "$work/served/buildid/$id/debuginfo"
	python3 - "$work/served" >"$work/port" 2>"$work/requests" <<'END' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
END
	owns $!
	wait_for 30 test -s "$work/port" || fail "no server"
	mv "$work/stripped.debug" "$work/away.debug"
	full stripped
	[ -s "$work/requests" ] && fail "a server was asked that nobody named"
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$work/port") DEBUGINFOD_CACHE_PATH=$work/cache no_proxy=127.0.0.1 full stripped
	check_lines stripped
fi

compile linked -g -Wl,--build-id=none
objcopy --only-keep-debug "$work/linked" "$work/linked.debug"
(cd "$work" && objcopy --strip-debug --add-gnu-debuglink=linked.debug linked)
sample linked
full linked
check_lines linked
printf x >>"$work/linked.debug"
full linked
go tool pprof -traces "$work/linked.full.pb" 2>/dev/null | grep -q 'mix (inline)' &&
	fail "a debug file with another CRC was taken"

# Shared parts in a supplementary file.
if command -v dwz >/dev/null; then
	compile dwz-one -gdwarf-4
	cp "$work/dwz-one" "$work/dwz-two"
	(cd "$work" && dwz -m dwz-common dwz-one dwz-two 2>/dev/null)
	sample dwz-one
	full dwz-one
	check_lines dwz-one
fi

# Another program now: its lines would be wrong.
compile replaced -g
sample replaced
compile replaced -g -DOTHER -O1
full replaced
go tool pprof -traces "$work/replaced.full.pb" 2>/dev/null | grep -q 'mix (inline)' &&
	fail "the lines of another build were taken"

# Without debug information names stay, and a file in place stays the very same.
compile plain -g0
sample plain
cp "$work/plain.pb" "$work/plain.before"
"$cprof" symbolize --in-place --debug-dir /nowhere "$work/plain.pb" || fail "plain: status $?"
check_top "$work/plain.pb" 1 burn
# A file of addresses only gets names all the same, those of the symbol table where there is no DWARF.
CPROF_SYMBOLIZE=none sample plain
full plain
check_top "$work/plain.full.pb" 1 burn
# Where not all have names, the others have their places.
compile partly -g0 -Wl,--export-dynamic-symbol=burn
strip "$work/partly"
CPROF_SYMBOLIZE=none sample partly
full partly
check_valid "$work/partly.full.pb"
check_stack "$work/partly.full.pb" 'burn;partly\+0x[0-9a-f]+;'
compile bare -g
CPROF_SYMBOLIZE=none sample bare
full bare
check_lines bare
compile in-place -g
sample in-place
"$cprof" symbolize --in-place "$work/in-place.pb" || fail "in place: status $?"
cp "$work/in-place.pb" "$work/in-place.full.pb"
check_lines in-place
"$cprof" symbolize --in-place "$work/in-place.pb" || fail "again: status $?"
cmp -s "$work/in-place.pb" "$work/in-place.full.pb" || fail "a file that has all lines was changed"

# Where nothing can be written the file stays as it is.
mkdir "$work/read-only"
cp "$work/replaced.pb" "$work/read-only/a.pb"
cat >"$work/in-namespace" <<'END'
mount --bind "$2" "$2" && mount -o remount,bind,ro "$2" || exit 77
"$1" symbolize --in-place "$2/a.pb"
END
compile replaced -g
unshare -m bash "$work/in-namespace" "$cprof" "$work/read-only" 2>"$work/err"
case $? in
2) cmp -s "$work/replaced.pb" "$work/read-only/a.pb" || fail "a file that can't be written was changed" ;;
0) fail "a read-only file was written" ;;
*) echo "no mount namespaces here: read-only file systems are not tried" ;;
esac

"$cprof" symbolize "$work/plain.pb" >/dev/null 2>&1
[ $? = 2 ] || fail "neither -o nor --in-place is not an error"
"$cprof" symbolize --in-place "$host" >/dev/null 2>"$work/err"
[ $? = 2 ] && [ -s "$work/err" ] || fail "a file that is no profile is not an error"

# A module that is cut short while it is mapped: a line, and the profile stays; not SIGBUS.
cat >"$work/cutter.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void *elf_begin(int fd, int how, void *from)
{
	void *(*next)(int, int, void *) = (void *(*)(int, int, void *))dlsym(RTLD_NEXT, "elf_begin");
	void *elf = next(fd, how, from);

	return truncate(getenv("CUT"), 4096) ? NULL : elf;
}
END
$CC -w -shared -fPIC -o "$work/cutter.so" "$work/cutter.c" -ldl || fail "the cutter doesn't compile"
compile cut -g
sample cut
cp "$work/cut.pb" "$work/cut.before"
CUT=$work/cut LD_PRELOAD=$work/cutter.so "$cprof" symbolize --in-place "$work/cut.pb" 2>"$work/err"
status=$?
[ $status = 2 ] && grep -q 'cut.pb is not written: a module was cut short' "$work/err" ||
	fail "a module that is cut short: status $status, $(cat "$work/err")"
cmp -s "$work/cut.pb" "$work/cut.before" || fail "a module that is cut short: the profile has changed"
finish
