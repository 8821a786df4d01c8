# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests on the machine of make arm64; see arm64.sh. Lines that begin with "arm64: " are shown.
place=$(dirname "$(realpath "$0")")
set -o pipefail
cd "$place/build"
eval "$(cat environment)"
export CP_LIBRARY=$place/opt/lib/libcprof.so.0 srcdir=.. MAKE=true
echo "arm64: Linux $(uname -r), pages of $(($(getconf PAGESIZE) >> 10)) KiB, $(ldd --version | head -n 1)"
# While the machine waits for a disk, its clock runs ahead. So what the tests use is read before.
find /usr/bin /usr/lib "$place" -xdev -type f ! -path '*/debug/*' -print0 | xargs -0 cat >/dev/null
for t in $(cat ../tests.list); do
	started=$SECONDS
	for script in "tests/$t/$t.sh" "tests/traps/${t#trap_}/run.sh" "tests/e2e/$t.sh"; do
		[ ! -e "../$script" ] || break
	done
	if [ -x "tests/unit/$t" ]; then
		timeout -k 10 600 "tests/unit/$t" >"$t.log" 2>&1
	elif [ ! -e "../$script" ]; then
		(echo "SKIP: not built for aarch64"; exit 77) >"$t.log"
	else
		timeout -k 10 1800 bash "../$script" $([ $t != oracle ] || echo ${ORACLE_PROGRAMS:-}) 2>&1 | if [ $t = oracle ]; then
			sed -u 's/^/arm64:     /'
		else
			cat >"$t.log"
		fi
	fi
	case $? in
	0) result=passed ;;
	77) result="not applicable: $(sed -n 's/.*SKIP[: ]*//p' "$t.log" | head -n 1)" ;;
	124 | 137) result="FAILED: too long" ;;
	*) result=FAILED ;;
	esac
	echo "arm64: $t: $result, $((SECONDS - started)) s"
	case $t:$result in
	*:FAILED*) grep -E '^(FAIL|not ok|#)' "$t.log" | head -n 12 | cut -c 1-300 | sed 's/^/arm64:     /' ;;
	esac
done
echo "arm64: all have ended"
