# SPDX-License-Identifier: BSD-3-Clause
# Trap: what is right for one kind of executable is wrong for another: position-independent or not,
# by another linker, with holes between segments, with its symbols in a separate file.
. "$srcdir/tests/lib/loader.sh"
OBJCOPY=${OBJCOPY:-objcopy}
need "$OBJCOPY"

check_program() { # name
	profiles_well profiled "$1" "$work/$1" burn 150
	check_stack "$work/$1.pb" '	burn_loop;main;(.*_start|libc\.so\+0x[^;]*)$'
	has_go || return
	check_mapping "$work/$1.pb" "$work/$1" "$(build_id "$work/$1")"
	go tool pprof -symbolize=none -top "$work/$1.pb" >"$work/none" 2>/dev/null ||
		fail "$1: pprof can't read it"
	go tool pprof -top "$work/$1.pb" >"$work/default" 2>/dev/null
	cmp -s "$work/none" "$work/default" || fail "$1: pprof changes the names"
}

variant() { # name flags...
	program "$@"
	check_program "$1"
}

variant pie -pie -fPIE
variant non-pie -no-pie -fno-pie
variant one-segment -Wl,-z,noseparate-code
variant holes -Wl,-z,max-page-size=65536
if command -v ld.lld >/dev/null; then
	variant lld -fuse-ld=lld
	variant lld-non-pie -fuse-ld=lld -no-pie -fno-pie
	variant lld-holes -fuse-ld=lld -Wl,-z,max-page-size=65536
fi

# Separate debug files: by link beside the program, in .debug, by build id.
separate() { # name flags...
	program "$@"
	$OBJCOPY --only-keep-debug "$work/$1" "$work/$1.debug"
	$OBJCOPY --strip-all "$work/$1"
}
separate linked -Wl,--build-id=none
(cd "$work" && $OBJCOPY --add-gnu-debuglink=linked.debug linked)
check_program linked
separate folder
(cd "$work" && $OBJCOPY --add-gnu-debuglink=folder.debug folder && mkdir .debug &&
	mv folder.debug .debug/)
check_program folder

# The system's folder, in a mount namespace where it is ours.
separate by-id
id=$(build_id "$work/by-id")
cat >"$work/in-namespace" <<'SH'
mount -t tmpfs none /usr/lib/debug && mkdir -p "/usr/lib/debug/.build-id/$1" &&
	cp "$3" "/usr/lib/debug/.build-id/$1/$2.debug" || exit 99
env LD_PRELOAD=$CP_LIBRARY CPUPROFILE=$5 "$4" burn 150
SH
if unshare -m true 2>/dev/null; then
	status=0
	unshare -m sh "$work/in-namespace" "${id:0:2}" "${id:2}" "$work/by-id.debug" "$work/by-id" \
		"$work/by-id.pb" 2>"$work/by-id.err" || status=$?
	if [ "$status" = 99 ]; then
		echo "SKIP by-id: $(cat "$work/by-id.err")"
	else
		check_status by-id 0
		check_valid "$work/by-id.pb"
		check_stack "$work/by-id.pb" '	burn_loop;main;(.*_start|libc\.so\+0x[^;]*)$'
	fi
else
	echo "SKIP by-id: no mount namespaces"
fi
rm "$work/by-id.debug"

# Symbols nowhere: functions are told apart by the unwind table, and has no names.
profiled stripped "$work/by-id" burn 150
check_valid "$work/stripped.pb"
check_stack "$work/stripped.pb" '	by-id\+0x[0-9a-f]+;by-id\+0x[0-9a-f]+;__libc_start_call_main;'

# Two runs at the same addresses become one row a pc.
if has_go; then
	profiled again "$work/non-pie" burn 150
	go tool pprof -addresses -top "$work/non-pie.pb" "$work/again.pb" >"$work/merged" 2>/dev/null ||
		fail "the runs can't be merged"
	rows=$(awk '/burn_loop/ { print $6 }' "$work/merged")
	[ -n "$rows" ] || fail "no burn_loop in the merged profile"
	[ -z "$(sort <<<"$rows" | uniq -d)" ] || fail "an address has two rows: $rows"
fi
finish
