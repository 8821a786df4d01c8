# SPDX-License-Identifier: BSD-3-Clause
# Trap: executable and plugin are deleted, or replaced by another build, while they run. The
# kernel then calls them "PATH (deleted)"; names come from what is mapped.
. "$srcdir/tests/lib/loader.sh"

check_run() { # name path-of-program path-of-plugin build-id-of-program build-id-of-plugin
	check_ended_valid "$1" 0
	check_stack "$work/$1.pb" '	hot_a;work;.*main;'
	check_stack "$work/$1.pb" '	burn_loop;.*main;'
	"$pprof_check" --main "$2" "$work/$1.pb" || fail "$1: $2 is not the main mapping"
	has_go || return
	check_mapping "$work/$1.pb" "$2" "$4"
	check_mapping "$work/$1.pb" "$3" "$5"
	mappings "$work/$1.pb" | grep -q deleted && fail "$1: (deleted) is left in a path"
	return 0
}

variant() { # name linker-flags...
	v=$1
	shift
	program p "$@"
	plugin a "${@/-no-pie/-shared}"
	program_id=$(build_id "$work/p")
	plugin_id=$(build_id "$work/a.so")
	profiled "$v" "$work/p" unlink "$work/p" open "$work/a.so" unlink "$work/a.so" \
		work 150 burn 150
	check_run "$v" "$work/p" "$work/a.so" "$program_id" "$plugin_id"
}

variant pie -Wl,--build-id
variant non-pie -Wl,--build-id -no-pie
variant one-segment -Wl,--build-id -Wl,-z,noseparate-code
variant sysv-hash -Wl,--build-id -Wl,--hash-style=sysv
variant no-build-id -Wl,--build-id=none
command -v ld.lld >/dev/null && variant lld -Wl,--build-id -fuse-ld=lld

# Another build takes the plugin's place: its names are not to be believed.
for id in sha1 none; do
	plugin a -Wl,--build-id=$id
	plugin other -Wl,--build-id=$id
	ends_well profiled "swap-$id" "$host" open "$work/a.so" unlink "$work/a.so" \
		work 100 copy "$work/other.so" "$work/a.so" burn 50
	check_valid "$work/swap-$id.pb"
	check_stack "$work/swap-$id.pb" '	hot_a;work;.*main;'
	"$pprof_check" --raw "$work/swap-$id.pb" | grep -q hot_other &&
		fail "swap-$id: names of the file that took its place"
done
# Names that look like what the kernel makes of others. The files are there.
program odd
for odd in $'new\nline' 'named (deleted)' 'four\012characters'; do
	cp "$work/odd" "$work/$odd"
	ends_well profiled oddly "$work/$odd" burn 50
	# Of a deleted file no profile should have that name, says pprof-check.
	[ "$odd" = 'named (deleted)' ] && gzip -dc "$work/oddly.pb" | grep -aqF "$work/$odd" && continue
	"$pprof_check" --main "$work/$odd" "$work/oddly.pb" || fail "$odd is not the main mapping"
done
finish
