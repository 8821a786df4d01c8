# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler on an alternate stack doesn't return: it is left by longjmp, by an exception, by a
# runtime's own jump (OCaml's Stack_overflow). Whatever was blocked for it stays blocked.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/handler_left/host
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for how in returns longjmp siglongjmp throw; do
	ends_well bare "bare-$how" $host $how
	same_as_bare cpu "$how" $host $how
	check_valid "$work/$how.pb"
	check_stack "$work/$how.pb" 'burn.*;after_handler;'
	check_stack "$work/$how.pb" 'burn.*;work_in_handler;'
	[ $how = longjmp ] || continue
	for mode in HEAPPROFILE LOCKPROFILE WALLPROFILE; do
		bare "$mode" env LD_PRELOAD="$CP_LIBRARY" $mode="$work/$mode.pb" $host $how
		check_status "$mode" 0
		check_same_output "$mode" "bare-$how"
	done
done

cat >"$work/deep.ml" <<-END
	let rec deep x = if x = 0 then 0 else 1 + deep (x + 1)
	let rec spin n acc = if n = 0 then acc else spin (n - 1) (acc lxor (n * 7))
	let overflow () = try ignore (deep 1) with Stack_overflow -> print_endline "overflow"
	let () =
	  overflow ();
	  ignore (Sys.opaque_identity (spin 300_000_000 0));
	  overflow ()
END
# OCaml's programs are for glibc.
if [ "${CP_LIBC:-glibc}" = glibc ] && command -v ocamlopt >/dev/null && (cd "$work" && ocamlopt -o deep deep.ml) >/dev/null 2>&1; then
	bare bare-ocaml "$work/deep"
	CPROF_CPU_ENGINE=perf ends_well profiled ocaml "$work/deep"
	check_same_output ocaml bare-ocaml
	check_valid "$work/ocaml.pb"
	check_stack "$work/ocaml.pb" spin
fi
finish
