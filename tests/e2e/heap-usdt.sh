# SPDX-License-Identifier: BSD-3-Clause
# The static probes for tools outside: readelf finds them, and a tool that listens is told of each sampled block what the
# profile says of all.
. "$srcdir/tests/lib/heap.sh"

"${READELF:-readelf}" -n "$CP_LIBRARY" >"$work/notes" 2>/dev/null
note() { # probe: its location, semaphore and arguments
	awk -v name="$1" '
		$1 == "Provider:" { ours = $2 == "otel_memory" }
		$1 == "Name:" { ours = ours && $2 == name }
		ours && $1 == "Location:" { sub(",", "", $2); sub(",", "", $4); print $2; print $6 }
		ours && $1 == "Arguments:" { sub(/^ *Arguments: /, ""); print; exit }' "$work/notes"
}
mapfile -t alloc < <(note alloc)
mapfile -t free < <(note free)
[ ${#alloc[@]} = 3 ] && [ ${#free[@]} = 3 ] || fail "readelf -n: $(cat "$work/notes")"
[ $((alloc[1])) != 0 ] && [ $((free[1])) != 0 ] || fail "a probe has no semaphore: ${alloc[*]}, ${free[*]}"
[ "$(grep -o '8@' <<<"${alloc[2]} ${free[2]}" | wc -l)" = 4 ] || fail "arguments: ${alloc[2]}; ${free[2]}"

heap_profiled probed ./tests/e2e/heap-usdt-host "${alloc[@]}" "${free[@]}"
[ "$status" = 77 ] && finish # not x86_64
check_ended probed 0
check_heap "$work/probed.pb"
read -r count bytes kept freed strangers <"$work/probed.out"
read -r _ all _ live <<<"$(heap_values "$work/probed.pb" site_probed)"
[ "$count" -gt 100 ] && [ "$freed" -gt 50 ] || fail "probes: $count blocks, $freed freed"
[ "$bytes" = "$all" ] || fail "the probes tell of $bytes weighted bytes, the profile of $all"
[ "$kept" = "$live" ] || fail "the probes tell of $kept bytes in use, the profile of $live"
# Small blocks that realloc freed are sampled, too, now and then; others have no probe.
[ "$strangers" -lt 20 ] || fail "$strangers frees of blocks that no probe told of"
finish
