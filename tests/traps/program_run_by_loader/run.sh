# SPDX-License-Identifier: BSD-3-Clause
# Trap: under `ld.so ./prog`, /proc/self/exe is the loader, and with musl so are the kernel's program headers: the
# profile is named after it.
. "$srcdir/tests/lib/loader.sh"

loader=$(${READELF:-readelf} -lW "$host" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
[ -x "$loader" ] || skip "the loader is not known"
run() { # name program loader-option...
	run_name=$1 run_program=$2
	shift 2
	profiles_well profiled "$run_name" "$loader" "$@" "$run_program" burn 150
	"$pprof_check" --main "$run_program" "$work/$run_name.pb" ||
		fail "$run_name: $run_program is not the main mapping"
	check_stack "$work/$run_name.pb" '	burn_loop;.*main;'
	ends_well profiled "$run_name-%e" "$loader" "$@" "$run_program" burn 1
	[ -e "$work/$run_name-${run_program##*/}.pb" ] || fail "$run_name: %e is not the program: $(ls "$work")"
	has_go || return
	go tool pprof -top "$work/$run_name.pb" 2>/dev/null | grep -q "^File: ${run_program##*/}$" ||
		fail "$run_name: $(go tool pprof -top "$work/$run_name.pb" 2>&1 | head -n 1)"
}

program pie
program non-pie -no-pie
run pie "$work/pie"
run non-pie "$work/non-pie"
run argv0 "$work/pie" --argv0 other
finish
