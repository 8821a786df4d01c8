#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks which file may include which. The rooms of lib/ have one order; a file includes its own room and those before
# it. docs/architecture.md explains the rooms.
#
#   signal/ and guess/   run in signal handlers: other such folders, base/ and sample/ only
#   modes/<mode>/        another mode never
#   hooks/, preload/     the last ones, the entry points: nothing but they may include them
#   modes/<mode>/hooks/  entry points, too: nothing but entry points may include them
#   tools/               rooms of its own, in an order of their own; of lib/ only the demangler, the names of events, text, and
#                        the control protocol
#   examples/, include/  public headers; examples/tutorial/ also one beside it
#
# What goes against the order is in tests/checks/includes-allowed.txt, with the reason.
set -eu
cd "${srcdir:-.}"
export LC_ALL=C
allowed=tests/checks/includes-allowed.txt
rooms="base sample settings symbols unwind profile labels output host collect modes session hooks preload"
tool_rooms="core control attach otlp dwarf flame convert diff verbs live push serve"

# "file header" for each #include "header" below the folders given.
includes() {
	find "$@" \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) 2>/dev/null | sort |
		xargs -r grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
		sed 's/^\([^:]*\):.*"\(.*\)".*/\1 \2/'
}

# The lines that break a rule, each as "file header why".
broken() {
	awk -v rooms="$rooms" -v tool_rooms="$tool_rooms" -v allowed="$1" '
		BEGIN {
			n = split(rooms, name, " ")
			for (i = 1; i <= n; i++) rank[name[i]] = i
			n = split(tool_rooms, name, " ")
			for (i = 1; i <= n; i++) tool_rank[name[i]] = i
			while ((getline line <allowed) > 0)
				if (line !~ /^#/ && split(line, word, " ") >= 3) excused[word[1], word[2]] = 1
		}
		function is_public(h) { return h == "cprof.h" || h ~ /^gperftools\// || h == "cp-build.h" }
		function is_entry(p) { return p ~ /\/hooks\// || p ~ /^preload\// }
		function of_lib(h) { return h == "symbols/demangle.h" || h == "base/control.h" || h == "base/attach.h" || h == "base/text.h" || h == "modes/event/event_names.h" }
		function is_event(p) { return p ~ /\/(signal|guess)\// || p ~ /^lib\/(base|sample)\// }
		function mode_of(p) { return match(p, /^lib\/modes\/[a-z]+\//) ? substr(p, 11, RLENGTH - 11) : "" }
		function why(file, header,    target, part, from, to) {
			if (file ~ /^examples\/tutorial\// && header !~ /\//) return ""
			if (file ~ /^(examples|include)\//) return is_public(header) ? "" : "public headers only"
			if (is_public(header)) return ""
			split(header, part, "/"); to = part[1]
			split(file, part, "/"); from = part[1] == "preload" ? part[1] : part[2]
			if (file ~ /^tools\//) {
				if (of_lib(header)) return ""
				if (!(to in tool_rank)) return "the tool includes no library"
				if (file == "tools/main.c") return ""
				if (!(from in tool_rank)) return "is in no room of the tool"
				return tool_rank[to] > tool_rank[from] ? "against the order of the rooms of the tool" : ""
			}
			target = "lib/" header
			if (!(to in rank)) return "is in no room: name headers by their path below lib/"
			if (is_entry(target) && !is_entry(file)) return "hooks are entry points: nothing calls them"
			if (mode_of(file) != "" && mode_of(target) != "" && mode_of(file) != mode_of(target))
				return "another mode"
			if (is_event(file) && !is_event(target)) return "may not run in a signal handler"
			if (rank[to] > rank[from]) return "against the order of the rooms"
			return ""
		}
		{
			reason = why($1, $2)
			if (reason == "") next
			if (($1, $2) in excused) { used[$1, $2] = 1; next }
			print $1, $2 ": " reason
		}
		END {
			for (pair in excused)
				if (!(pair in used)) { split(pair, at, SUBSEP); print allowed ": " at[1] " does not include " at[2] " (any more)" }
		}'
}

failed=0
refused() { # file header: must be refused
	[ -n "$(echo "$1 $2" | broken /dev/null)" ] || { echo "this check does not refuse: $1 includes $2" >&2; failed=1; }
}
refused lib/sample/a.c base_elsewhere.h
refused lib/sample/a.c output/pprof.h
refused lib/modes/cpu/a.c session/window.h
refused lib/modes/cpu/a.c modes/heap/heap.h
refused lib/modes/heap/signal/a.c modes/heap/heap.h
refused lib/session/a.c hooks/hooks.h
refused lib/session/a.c modes/io/hooks/io_hooks.h
refused lib/modes/io/hooks/a.c session/session.h
refused tools/core/a.c base/base.h
refused tools/core/a.c verbs/verbs.h
refused tools/flame/a.c diff/diff.h
refused examples/a.c base/base.h
refused include/a.h base/base.h

found=$(includes lib preload examples tools include | broken "$allowed")
[ -z "$found" ] || { echo "$found" >&2; failed=1; }
# tools/attach/ is not built for aarch64: what others call of it has a stand-in in its header.
declared() { grep -oE '\bct_[a-z_]+\(' "$@" | sort -u; }
stands_in() { sed '1,/^#else/d;/^#endif/,$d' tools/attach/attach.h | declared; }
missing=$(find tools -name '*.c' ! -path 'tools/attach/*' -print0 | xargs -0 cat | declared |
	comm -12 - <(declared tools/attach/attach.h) | comm -23 - <(stands_in))
[ -z "$missing" ] || { echo "tools/attach/attach.h has nothing for aarch64 in place of" $missing >&2; failed=1; }
# Folders show the architecture: hardly any file is outside the rooms.
beside=$(find lib -maxdepth 1 -name '*.[ch]' | wc -l)
[ "$beside" -le 5 ] || { echo "$beside source files stand in lib/ itself" >&2; failed=1; }
echo "$(grep -vc '^#' "$allowed") includes against the order"
exit $failed
