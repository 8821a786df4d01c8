#!/bin/bash
# Who may include whom:
#   lib/sigsafe/   lib/sigsafe/ only
#   lib/           lib/ and public headers; session.h from the CONTROL modules only
#   preload/       its own headers, public headers, lib/sigsafe/ and what HOOK_HEADERS lists
#   examples/      public headers
#   tools/         its own headers (one is generated), public headers, cp-build.h, and the demangler
#   include/       public headers
set -eu
cd "${srcdir:-.}"
# Modules at the session's own level: they are called from outside and act on the whole of it.
CONTROL="api fatal fork gperftools label_api mask process send session session_start signals"
# What the interposed functions call: hooks of the control plane.
HOOK_HEADERS="allocator.h closing.h heap.h mappings.h real.h process.h session.h lineage.h log.h mask.h send.h signals.h threads.h"
failed=0

# "file header" for each #include "header" or of a public one in <> below the folders given.
includes() {
	find "$@" \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) 2>/dev/null | sort |
		xargs -r grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
		sed 's/^\([^:]*\):.*"\(.*\)".*/\1 \2/'
}

is_public() { [ -e "include/$1" ]; }
is_beside() { [ -e "$(dirname "$1")/$2" ]; }
is_hook() { [[ " $HOOK_HEADERS " == *" $1 "* ]]; }
is_control() { [[ " $CONTROL " == *" $(basename "${1%.*}") "* ]]; }

may_include() { # file header
	case $1 in
	lib/sigsafe/*) [[ $2 == sigsafe/* || $2 == cp-build.h ]] ;;
	lib/*) [[ $2 != preload/* ]] && { [[ $2 != session.h ]] || is_control "$1"; } ;;
	preload/*) [[ $2 == sigsafe/* || $2 == cp-build.h ]] || is_public "$2" || is_hook "$2" || is_beside "$1" "$2" ;;
	tools/*) is_public "$2" || is_beside "$1" "$2" || [[ $2 == cp-build.h || $2 == profile.pb-c.h || $2 == ../lib/demangle.h ]] ;;
	*) is_public "$2" ;;
	esac
}

check_all() {
	while read -r file header; do
		may_include "$file" "$header" || { echo "$file may not include \"$header\"" >&2; failed=1; }
	done
}

for bad in "lib/sigsafe/a.c log.h" "lib/a.c preload/a.h" "lib/a.c session.h" "preload/a.c aggregate.h" \
	"examples/a.c log.h" "tools/a.c log.h" "include/a.h log.h"; do
	if may_include ${bad% *} ${bad#* }; then
		echo "this check does not refuse: $bad" >&2
		failed=1
	fi
done
check_all < <(includes lib preload examples tools include)
exit $failed
