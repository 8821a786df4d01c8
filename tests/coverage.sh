# SPDX-License-Identifier: BSD-3-Clause
# Lines of the library that its tests run: "make coverage", in a build directory configured with
# --enable-coverage. Runs all tests, sums up and compares with a floor.
#
# Counters are in a file that each process maps, so code that ran in a killed process, before an _exit or in a handler
# is counted, too. Some tests can't pass on an instrumented library (they look at its symbols, or count its
# instructions); the code that they ran counts all the same, and they must pass in "make check-all".
set -u
floor=90 # per cent of lib/
: "${srcdir:?is the source directory}"
tool() { # name: with the compiler's version, or without
	local version
	version=$("${CC%% *}" -dumpversion | cut -d. -f1)
	command -v "$1-$version" || command -v "$1" || {
		echo "coverage: $1 is missing: install llvm" >&2
		exit 2
	}
}
profdata=$(tool llvm-profdata) && cov=$(tool llvm-cov) || exit 2

echo "coverage: running all tests (some minutes; see coverage/check.log)"
mkdir -p coverage
rm -f coverage/*.profraw
make -k check-all >coverage/check.log 2>&1
grep -E '^(FAIL|ERROR):' coverage/check.log | sed 's/^/coverage: on the instrumented library, /'

"$profdata" merge -sparse -o coverage/all.profdata coverage/*.profraw || exit 2
set -- .libs/libcprof.so
for program in tests/unit/test-*; do
	[ -f "$program" ] && [ -x "$program" ] && set -- "$@" -object "$program"
done
"$cov" export -format=lcov -instr-profile=coverage/all.profdata "$@" >coverage/lcov.info || exit 2
awk -v floor=$floor -v top="$(cd "$srcdir" && pwd)" '
	/^SF:/ {
		file = substr($0, 4)
		# Below the source directory; tests and tools are not counted.
		ours = index(file, top "/lib/") == 1 || index(file, top "/preload/") == 1
		name = substr(file, length(top) + 2)
	}
	/^DA:/ && ours {
		split(substr($0, 4), v, ",")
		key = name ":" v[1]
		if (!(key in hits)) { hits[key] = 0; lines[name]++ }
		if (v[2] > 0 && !hits[key]) { hits[key] = 1; run[name]++ }
	}
	END {
		for (f in lines) {
			kind = f ~ /\/hooks\/|^preload/ ? "hooks" : "lib"
			all[kind] += lines[f]; ran[kind] += run[f]
			printf "%6.1f %%  %5d of %5d lines  %s\n", 100 * run[f] / lines[f], run[f], lines[f], f | "sort -n"
		}
		close("sort -n")
		printf "lib/: %.1f %% of %d lines; its hooks: %.1f %% of %d lines\n",
			100 * ran["lib"] / all["lib"], all["lib"], 100 * ran["hooks"] / all["hooks"], all["hooks"]
		if (100 * ran["lib"] < floor * all["lib"]) {
			printf "coverage: lib/ is below %d %%\n", floor
			exit 1
		}
	}' coverage/lcov.info | tee coverage/report.txt
exit "${PIPESTATUS[0]}"
