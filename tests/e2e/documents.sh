# Every command in the documents' "sh" blocks, as written there, beside a program called app.
. "$srcdir/tests/lib/e2e.sh"
need go curl python3
limit=$bounded
documents=$(cd "$srcdir/docs" && pwd)

# As if it were installed, and in the linker's path.
mkdir "$work/bin" && cp "$builddir/cprof" "$work/bin/" 2>/dev/null || ln -s "$builddir/cprof" "$work/bin/cprof"
PATH=$work/bin:$PATH
LD_LIBRARY_PATH=$(dirname "$CP_LIBRARY")
export PATH LD_LIBRARY_PATH
CPROF_SYMBOLIZE=names
export CPROF_SYMBOLIZE
$CC -O1 -g -pthread "$srcdir/examples/02-preloaded.c" -o "$work/app" || fail "the program does not build"

# A server that takes what is pushed, in place of those that aren't here.
python3 "$srcdir/tests/lib/http-file.py" "$work/port" "$work/pushed" &
owns $!
wait_for 20 test -s "$work/port"
PYROSCOPE=http://127.0.0.1:$(cat "$work/port")
export PYROSCOPE

# The blocks of a document, each in a file of its own.
blocks() { # document
	rm -f "$work"/block.*
	awk -v to="$work/block." '/^```sh$/ { n++; on = 1; next } /^```/ { on = 0 } on { print > (to sprintf("%02d", n)) }' "$1"
}

can_unshare() {
	unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null
}

for document in "$documents"/*.md; do
	name=$(basename "$document" .md)
	blocks "$document"
	mkdir "$work/$name" && cd "$work/$name" || exit 1
	cp "$work/app" .
	for block in "$work"/block.*; do
		[ -e "$block" ] || continue
		if grep -q unshare "$block" && ! can_unshare; then
			echo "$name: left out, no user namespaces here: $(head -n 1 "$block")"
			continue
		fi
		if grep -q callgrind_annotate "$block" && ! command -v callgrind_annotate >/dev/null; then
			sed -i /callgrind_annotate/d "$block"
		fi
		$limit bash -eu "$block" </dev/null >block.out 2>&1 ||
			fail "$name: status $?: $(cat "$block"): $(tail -n 5 block.out)"
		ran=$((${ran:-0} + 1))
	done
done
echo "$ran blocks"
[ -s "$work/pushed" ] || fail "nothing was pushed"
check_valid "$work/pushed"
finish
