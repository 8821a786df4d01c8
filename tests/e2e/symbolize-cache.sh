# SPDX-License-Identifier: BSD-3-Clause
# Debug files are kept unpacked (CPROF_CACHE): the copies are read in place of the originals, take their room only, and
# whatever is in the directory, or may not be done there, the lines come out right.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" go objcopy strip readelf
export CPUPROFILE_FREQUENCY=250 CPROF_SYMBOLIZE=names PPROF_BINARY_PATH=/nowhere
unset CPROF_CACHE XDG_CACHE_HOME
# Compilers (ccache, go) keep what they keep in the home as it is.
CC="env HOME=$HOME $CC"
GOCACHE=$(go env GOCACHE)
export GOCACHE HOME=$work/home
mkdir "$HOME" "$work/cache" "$work/root"

$CC -O2 -g -Wl,--build-id=sha1 -o "$work/host" "$srcdir/tests/e2e/symbolize-host.c" || exit 1
objcopy --only-keep-debug --compress-debug-sections=zlib "$work/host" "$work/packed" || skip "objcopy compresses nothing"
strip --strip-debug "$work/host"
id=$(readelf -n "$work/host" | sed -n 's/.*Build ID: //p')
original=$work/root/$id.debug
copy=$work/cache/$id.debug
cp "$work/packed" "$original"
ends_well profiled host "$work/host"

symbolize() { # what
	rm -f "$work/full.pb"
	"$cprof" symbolize -o "$work/full.pb" --debug-dir "$work/root" "$work/host.pb" 2>"$work/symbolize.err" || fail "$1: $(cat "$work/symbolize.err")"
}

has_lines() {
	go tool pprof -traces "$work/full.pb" 2>/dev/null | tr -s ' \n' ' ' | grep -q 'mix (inline) twice (inline) burn main '
}

check() { # what
	symbolize "$1"
	has_lines || fail "$1: no lines"
}

check_unpacked() { # what file
	[ -s "$2" ] || { fail "$1: there is no copy"; return; }
	readelf -SW "$2" 2>/dev/null | grep -q '\.debug_info .* [A-Z]*C[A-Z]* ' && fail "$1: the copy is compressed"
	[ "$(stat -c %a "$2")" = 600 ] || fail "$1: the copy has mode $(stat -c %a "$2")"
}

# libc's debug file may be kept as well, where it is installed.
entries() { # directory
	ls -A "$1" 2>/dev/null | grep -E "^\.|$id|^00ff|precious"
}

check_nothing() { # what directory
	[ -z "$(entries "$2")" ] || fail "$1: there is $(entries "$2")"
}

# The first time makes the copy; then it serves, also without the original.
export CPROF_CACHE=$work/cache
check first
check_unpacked first "$copy"
cp "$copy" "$work/good"
rm "$original"
check copy
rm "$copy"
symbolize nowhere
has_lines && fail "lines came from nowhere"
cp "$work/packed" "$original"

# What isn't compressed needs no copy.
objcopy --decompress-debug-sections "$work/packed" "$original"
check plain
check_nothing plain "$work/cache"
cp "$work/packed" "$original"

# Another's contents under this name: the original is read, and the copy is made anew.
$CC -O1 -g -Wl,--build-id=sha1 -o "$work/other" "$srcdir/tests/e2e/symbolize-host.c" || exit 1
for wrong in other garbage short nothing; do
	case $wrong in
	other) cp "$work/other" "$copy" ;;
	garbage) head -c 20000 /dev/urandom >"$copy" ;;
	short) head -c 3000 "$work/good" >"$copy" ;;
	nothing) : >"$copy" ;;
	esac
	check "$wrong"
	cmp -s "$copy" "$work/good" || fail "$wrong: the copy wasn't made anew"
done

# Eight at once, with none there.
rm "$copy"
for i in 1 2 3 4 5 6 7 8; do
	"$cprof" symbolize -o "$work/full$i.pb" --debug-dir "$work/root" "$work/host.pb" || : >"$work/failed" &
done
wait
[ -e "$work/failed" ] && fail "one of eight failed"
for i in 1 2 3 4 5 6 7 8; do
	mv "$work/full$i.pb" "$work/full.pb" && has_lines || fail "one of eight has no lines"
done
[ "$(entries "$work/cache")" = "$id.debug" ] || fail "after eight there is $(entries "$work/cache")"

# The oldest go: here one that a killed process left halfway.
rm "$copy"
# What is no copy stays: the user may have named any directory.
left=$work/cache/.00ee.debug.0123456789abcdef
truncate -s 200M "$left" "$work/cache/00ff.debug" "$work/cache/precious.debug" "$work/cache/.precious.debug"
touch -d 2001-01-01 "$left"
touch -d 2000-01-01 "$work"/cache/*precious.debug "$work/cache/.precious.debug"
check room
[ "$(entries "$work/cache" | LC_ALL=C sort | xargs)" = "$(printf '%s\n' .precious.debug 00ff.debug precious.debug "$id.debug" | LC_ALL=C sort | xargs)" ] || fail "room: there is $(entries "$work/cache")"
rm "$work/cache"/* "$work/cache/.precious.debug"

# A file beside the program may have any build id: no copy of it serves others. Nor does another user's.
rm "$original"
mkdir -p "$work/.debug"
cp "$work/packed" "$work/.debug/host.debug"
objcopy --add-gnu-debuglink="$work/.debug/host.debug" "$work/host" 2>/dev/null
check beside
check_nothing beside "$work/cache"
rm -r "$work/.debug"
cp "$work/packed" "$original"
if [ "$(id -u)" = 0 ]; then
	chown 65534 "$original"
	check another-users
	check_nothing another-users "$work/cache"
	chown 0 "$original"
fi
# In a directory that others may exchange there is none, either.
mkdir -p "$work/open/cache"
chmod 777 "$work/open"
CPROF_CACHE=$work/open/cache check exchangeable
check_nothing exchangeable "$work/open/cache"

# A limit for files, others' permission, no directory, a file in its place.
(failures=0; ulimit -f 4; check limit; exit "$failures") || failures=$((failures + 1))
check_nothing limit "$work/cache"
chmod 777 "$work/cache"
check shared
check_nothing shared "$work/cache"
cp "$work/other" "$copy"
check shared
cmp -s "$copy" "$work/other" || fail "a directory of everybody's was written to"
rm "$copy"
chmod 500 "$work/cache"
[ "$(id -u)" = 0 ] || { check read-only; check_nothing read-only "$work/cache"; }
chmod 700 "$work/cache"
: >"$work/file"
for place in "$work/none" "$work/file" cache ''; do
	CPROF_CACHE=$place check "place '$place'"
done
[ -e "$work/none" ] && fail "a directory was made that was named"
check_nothing "not asked for" "$HOME"
check_nothing "not asked for" "$work/cache"

# Where nothing is said: below XDG_CACHE_HOME, which is there, or the home, made if need be. Not below another user's.
unset CPROF_CACHE
mkdir "$work/xdg"
XDG_CACHE_HOME=$work/xdg check xdg
check_unpacked xdg "$work/xdg/cprof/$id.debug"
XDG_CACHE_HOME=$work/none check no-xdg
[ -e "$work/none" ] && fail "XDG_CACHE_HOME was made"
check_nothing xdg "$HOME"
check home
check_unpacked home "$HOME/.cache/cprof/$id.debug"
[ "$(stat -c %a "$HOME/.cache/cprof")" = 700 ] || fail "the directory has mode $(stat -c %a "$HOME/.cache/cprof")"
if [ "$(id -u)" = 0 ]; then
	mkdir "$work/theirs"
	chown 65534 "$work/theirs"
	HOME=$work/theirs check theirs
	check_nothing theirs "$work/theirs"
fi
finish
