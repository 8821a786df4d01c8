# SPDX-License-Identifier: BSD-3-Clause
# Every command in the "sh" blocks of README.md and docs/, as written there, beside a program called app and the
# sources of examples/. A "text" block that follows is compared with what was printed (documents.py).
# UPDATE=1 make one T=documents writes the figures of this run into the documents; UPDATE=all takes other lines,
# too, for when a command prints something new. DOCUMENTS="README hot": only these.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
need go curl diff python3
limit=$bounded
source=$(cd "$srcdir" && pwd)

# As if it were installed, and in the linker's path.
mkdir "$work/bin" && ln -s "$builddir/cprof" "$work/bin/cprof"
printf '#!/bin/sh\nexec %s "$@"\n' "$CC" >"$work/bin/cc" && chmod +x "$work/bin/cc"
PATH=$work/bin:$PATH
LD_LIBRARY_PATH=$(dirname "$CP_LIBRARY")
C_INCLUDE_PATH=$source/include LIBRARY_PATH=$LD_LIBRARY_PATH
export PATH LD_LIBRARY_PATH C_INCLUDE_PATH LIBRARY_PATH
export CPROF_SYMBOLIZE=names
$CC -O1 -g -pthread "$srcdir/examples/02-preloaded.c" -o "$work/app" || fail "the program does not build"

# A server that takes what is pushed, in place of those that aren't here.
python3 "$srcdir/tests/lib/http-file.py" "$work/port" "$work/pushed" &
owns $!
wait_for 20 test -s "$work/port"
PYROSCOPE=http://127.0.0.1:$(cat "$work/port")
export PYROSCOPE

# The blocks of a document, each in a file of its own: 01.sh, and 01.text if it shows what that prints.
blocks() { # document
	rm -rf "$work/blocks" && mkdir "$work/blocks"
	awk -v to="$work/blocks/" '
		!on && /^```sh$/ { n++; on = to sprintf("%02d.sh", n); next }
		!on && /^```text$/ && n { on = to sprintf("%02d.text", n); next }
		!on && /^```/ { on = "/dev/null"; next }
		/^```/ { close(on); on = ""; next }
		on { print > on }' "$1"
}

shown() { # document, number of the block
	local text=$work/blocks/$2.text
	[ -e "$text" ] || return 0
	sed -i "s,$PWD/,,g" block.out
	case ${UPDATE:-} in
	'') python3 "$source/tests/e2e/documents.py" check "$text" block.out >wrong ||
		fail "$1, after sh block $2: $(cat wrong); UPDATE=1 make one T=documents refreshes it" ;;
	all) python3 "$source/tests/e2e/documents.py" rewrite "$document" "$2" block.out ;;
	*) python3 "$source/tests/e2e/documents.py" update "$document" "$2" block.out ;;
	esac
	compared=$((compared + 1))
}

can_unshare() {
	unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null
}

ran=0 compared=0
for document in "$source"/README.md "$source"/docs/*.md; do
	name=$(basename "$document" .md)
	[[ -z ${DOCUMENTS:-} || " $DOCUMENTS " = *" $name "* ]] || continue
	blocks "$document"
	mkdir "$work/$name" && cd "$work/$name" || exit 1
	cp "$work/app" "$source"/examples/*.* "$source"/examples/tutorial/* .
	for block in "$work"/blocks/*.sh; do
		[ -e "$block" ] || continue
		if grep -q unshare "$block" && ! can_unshare; then
			echo "$name: left out, no user namespaces here: $(head -n 1 "$block")"
			continue
		fi
		if grep -q '^clang' "$block" && ! command -v ld.lld >/dev/null; then
			echo "$name: left out, no clang with lld here: $(head -n 1 "$block")"
			continue
		fi
		if grep -q callgrind_annotate "$block" && ! command -v callgrind_annotate >/dev/null; then
			sed -i /callgrind_annotate/d "$block"
		fi
		$limit bash -eu "$block" </dev/null >block.out 2>&1 ||
			fail "$name: status $?: $(cat "$block"): $(tail -n 5 block.out)"
		shown "$name" "$(basename "$block" .sh)"
		ran=$((ran + 1))
	done
done
echo "$ran blocks, the output of $compared compared"
[ -z "${DOCUMENTS:-}${UPDATE:-}" ] || finish
[ $ran -ge 40 ] && [ $compared -ge 20 ] || fail "the documents show their commands in another way by now"
[ -s "$work/pushed" ] || fail "nothing was pushed"
check_valid "$work/pushed"
finish
