#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof attach and detach into storms (ATTACH_STORMS), for ATTACH_SECONDS (20) each: the process ends as it does without.
# Prints how long its threads were stopped. Then attaches that are killed at any moment.
. "$srcdir/tests/lib/e2e.sh"
[ "$(uname -m)" = x86_64 ] || skip "attach is for x86_64"
seconds=${ATTACH_SECONDS:-20}

storm() { # kind
	"$builddir/tests/stress/attach-host" "$1" "$seconds" >"$work/$1.out" 2>"$work/$1.err" &
	pid=$!
	owns $pid
	wait_for 60 grep -q '^up' "$work/$1.out" || fail "$1 doesn't come up"
}

goes_well() { # kind
	status=0
	wait_for $((seconds + 60)) has_ended || harm "$1 hangs"
	wait $pid || status=$?
	check_status "$1" 0
	grep -q '^ok' "$work/$1.out" || harm "$1: $(sort "$work/$1.err" | uniq -c | head -n 5)"
}

has_ended() {
	! grep -q '^State:.*[RSDT] ' "/proc/$pid/status" 2>/dev/null
}

kill_attaches() {
	storm sleep
	killed=0 began=${EPOCHREALTIME/[^0-9]/}
	"$cprof" attach $pid 2>/dev/null || fail "no attach"
	took=$((${EPOCHREALTIME/[^0-9]/} - began))
	"$cprof" detach $pid 2>/dev/null || fail "no detach"
	while ! has_ended; do
		"$cprof" attach $pid 2>/dev/null &
		tool=$! at=$(((RANDOM << 15 | RANDOM) % took)) status=0
		sleep $(printf '%d.%06d' $((at / 1000000)) $((at % 1000000)))
		kill -KILL $tool 2>/dev/null
		# For two seconds after it, another one may be refused.
		wait $tool 2>/dev/null || status=$?
		[ $status != 137 ] || killed=$((killed + 1))
		timeout 5 "$cprof" detach $pid >/dev/null 2>&1 || true
	done
	goes_well sleep
	echo "$killed attaches killed"
}

for kind in ${ATTACH_STORMS:-malloc dlopen mmap fork exec signals short jump sleep all killed}; do
	if [ $kind = killed ]; then
		kill_attaches
		continue
	fi
	storm $kind
	while ! has_ended; do
		if "$cprof" attach $pid 2>>"$work/$kind.said"; then
			"$cprof" detach $pid >/dev/null 2>>"$work/$kind.said" || true
		fi
	done
	goes_well $kind
	grep -v 'attached to\|detached from' "$work/$kind.said" | sort | uniq -c | sort -rn | head -n 5
	sed -n 's/.*stopped for \([0-9.]*\) ms.*/\1/p' "$work/$kind.said" | sort -n | awk -v kind=$kind '
		{ t[NR] = $1 }
		END { printf "%-8s %5d attaches; stopped for ms, p50 %.2f, p99 %.2f, max %.2f\n", kind, NR, t[int((NR + 1) / 2)], t[int((NR * 99 + 99) / 100)], t[NR] }'
done
finish
