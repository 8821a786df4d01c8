# SPDX-License-Identifier: BSD-3-Clause
# Checks libcprof.so as it is linked, where the linker's optimizer (--enable-lto) has moved code between functions: the
# functions of lib/base/, lib/sample/, signal/ and guess/ folders, and the functions that they call, are all of those
# folders, call nothing of another library but what tests/checks/sigsafe-allowed.txt lists, and have no stack protector
# (which calls __stack_chk_fail). The debug information says which source file a function is from.
set -eu
checks=${srcdir:-.}/tests/checks
. "$checks/undefined.sh"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# "address file" for each function of the library; with inlined code at its start, the file of the function itself.
files_of() { # library
	${NM:-nm} --defined-only "$1" | awk '$2 ~ /^[tTwWi]$/ { print $1 }' | sort -u |
		${ADDR2LINE:-addr2line} -a -i -e "$1" | awk '
		/^0x/ { if (address) print address, file; address = $1; sub(/^0x0*/, "", address); next }
		{ file = $1; sub(/:[^:]*$/, "", file) }
		END { print address, file }'
}

# Prints a line for each thing that a handler may not do, and at the end the number of functions that were looked at.
judge() { # library
	files_of "$1" >"$temporary/files"
	${OBJDUMP:-objdump} -d --no-show-raw-insn "$1" >"$temporary/code"
	grep -v '^#' "$checks/sigsafe-allowed.txt" | awk '
		function is_safe(file) { return file ~ /\/lib\/(.*\/)?(base|sample|signal|guess)\/[^\/]*$/ }
		function visit(to) { if (!(to in queued)) { queued[to] = 1; queue[++last] = to } }
		FILENAME == "-" { allowed[$1] = 1; next }
		FILENAME ~ /files$/ {
			file_of[$1] = $2
			if (is_safe($2) && $2 ~ /\.c$/) visit($1)
			next
		}
		/^[0-9a-f]+ <.*>:$/ {
			here = $1
			sub(/^0*/, "", here)
			name_of[here] = substr($2, 2, length($2) - 3)
			next
		}
		# The linker turns a call through the GOT into one with a prefix.
		{ operation = $2 == "addr32" ? $3 : $2 }
		# What is named is a function or data of the library, with an offset, or a name of another library.
		match($0, /[0-9a-f]+ <[^>]*>/) {
			split(substr($0, RSTART, RLENGTH), part, /[ <>]+/)
			if (part[2] ~ /@/) {
				sub(/@.*/, "", part[2])
				imports[here] = imports[here] " " part[2]
			} else if (part[2] !~ /\+/ && operation ~ /^(call|j|bl?$|b\.|cbn?z|tbn?z)/)
				calls[here] = calls[here] " " part[1]
		}
		END {
			for (first = 1; first <= last; first++) {
				from = queue[first]
				n = split(imports[from], names, " ")
				for (i = 1; i <= n; i++)
					if (!(names[i] in allowed)) print name_of[from], "(" file_of[from] ") calls", names[i]
				n = split(calls[from], names, " ")
				for (i = 1; i <= n; i++) {
					to = names[i]
					if (!(to in file_of)) continue
					if (is_safe(file_of[to])) visit(to)
					else print name_of[from], "(" file_of[from] ") calls", name_of[to], "of", file_of[to]
				}
			}
			print last + 0
		}' - "$temporary/files" "$temporary/code" | sort -u
}

# Each of these must be seen, also in an inline function of a header and past a call.
mkdir -p "$temporary/lib/base" "$temporary/lib/session"
cat >"$temporary/lib/base/bad.h" <<'END'
static __attribute__((noinline)) void *cp_bad_inline(int n) { return malloc(n); }
END
cat >"$temporary/lib/base/bad.c" <<'END'
#include <stdlib.h>
#include "bad.h"
void cp_bad_other(int);
void cp_bad_fill(char *);
__attribute__((visibility("default"))) void cp_bad(int n)
{
	char line[64];
	cp_bad_fill(line);
	cp_bad_other(rand() + line[0] + !cp_bad_inline(n));
}
END
cat >"$temporary/lib/session/other.c" <<'END'
void cp_bad_other(int n) { if (n) __builtin_trap(); }
void cp_bad_fill(char *to) { *(volatile char *)to = 1; }
END
# Prints the calls that this check does not see in a library built with these flags.
unseen() { # flags...
	${CC:-cc} -g -O2 -fPIC -shared -fvisibility=hidden -fstack-protector-all "$@" -o "$temporary/bad.so" \
		"$temporary/lib/base/bad.c" "$temporary/lib/session/other.c"
	judge "$temporary/bad.so" >"$temporary/seen"
	for call in "cp_bad .* calls cp_bad_other of " "cp_bad .* calls rand" "cp_bad .* calls __stack_chk_fail" "cp_bad_inline .* calls malloc"; do
		grep -q "^$call" "$temporary/seen" || echo "$call"
	done
}
calls=$(unseen)
[ -z "$calls" ] || fail "this check does not see: $calls"
# x86's call names the import's place in the GOT, with the import. Elsewhere the address is loaded first, and called in a register.
through_got=$(unseen -fno-plt)
if [ "$through_got" ] && [ "$(uname -m)" = x86_64 ]; then
	fail "this check does not see, through the GOT: $through_got"
fi

library=${CP_LIBRARY:-.libs/libcprof.so}
[ -s "$library" ] || { echo "$library is not built" >&2; exit 1; }
judge "$library" >"$temporary/seen"
if ! grep -q '\.c$' "$temporary/files"; then
	echo "SKIP: $library is built without -g: its functions can't be told by their source files"
	exit 77
fi
[ "$(sed -n 's/^[0-9]*$/&/p' "$temporary/seen")" -gt 300 ] || fail "$library: hardly any function of a handler is found"
found=$(grep -v '^[0-9]*$' "$temporary/seen" | sed 's,(.*/lib/,(lib/,') || true
[ -z "$found" ] || fail "$found
This may not run in a signal handler."
if [ "$failed" = 0 ] && [ "$through_got" ] && ! { [ -s Makefile ] && ! grep -qE '^(CC|CFLAGS) = .*-fno-plt' Makefile; }; then
	echo "SKIP: calls through the GOT, as -fno-plt makes them, are not seen on this machine; all others are as they must be"
	exit 77
fi
exit $failed
