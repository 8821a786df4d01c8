# SPDX-License-Identifier: BSD-3-Clause
# The examples, against an installed library and tool: each is used as its own comment says, command by
# command, and prints what the comment promises ("-> REGEX").
. "$srcdir/tests/lib/e2e.sh"
need pkg-config c++
limit=$bounded

prefix=$work/prefix
make -s install prefix="$prefix" >"$work/install.log" 2>&1 || fail "make install: $(tail -n 3 "$work/install.log")"
library=$(find "$prefix" -name libcprof.so | head -n 1)
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name libcprof.pc)")
LD_LIBRARY_PATH=$(dirname "$library")
PATH=$prefix/bin:$PATH
export PKG_CONFIG_PATH LD_LIBRARY_PATH PATH
examples=$(cd "$srcdir/examples" && pwd)

# "command" and "expected" lines of an example's first comment.
steps() { # file
	sed -n '/SPDX-License/d; /\*\/\|^#include\|^import\|^use /q; s,^\( \*\|//\|#\)       -> ,E ,p; t; s,^\( \*\|//\|#\)     ,C ,p' "$1"
}

# Compilers are those of this build; installed headers and libraries are found by pkg-config.
try() { # example
	steps "$examples/$1" >"$work/steps"
	tool=$(sed -n 's/^C \(rustc\|python3\) .*/\1/p' "$work/steps" | head -n 1)
	[ -z "$tool" ] || command -v "$tool" >/dev/null || { echo "$1: left out, $tool is not installed"; return; }
	grep -q '^E ' "$work/steps" || fail "$1 promises nothing"
	while read -r kind text; do
		if [ "$kind" = E ]; then
			grep -qE -- "$text" step.out || fail "$1: $command: no line matches $text: $(head -n 20 step.out)"
			continue
		fi
		command=$text
		$limit bash -c "cc() { $CC \"\$@\"; }; c++() { $CXX \"\$@\"; }; pkg-config() { command pkg-config --define-variable=prefix=$prefix \"\$@\"; }
			$command" </dev/null >step.out 2>&1 || fail "$1: $command: status $?: $(tail -n 5 step.out)"
	done <"$work/steps"
}

for example in $(cd "$examples" && ls | grep '^[0-9]' | sort); do
	mkdir "$work/${example%.*}" && cd "$work/${example%.*}" || exit 1
	cp "$examples/$example" .
	try "$example"
	for profile in *.pb; do
		[ -e "$profile" ] || continue
		"$pprof_check" "$profile" >check.out 2>&1 || fail "$profile: $(head -n 3 check.out)"
	done
	echo "$example: $(grep -c '^C' "$work/steps") commands, $(grep -c '^E' "$work/steps") promises"
done
finish
