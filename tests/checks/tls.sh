#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Properties of the built library: at most one small TLS segment, reached without
# __tls_get_addr (it allocates); bound at load (a lazy binding in a handler takes the loader's
# lock); never unloaded; needing libc and nothing that a host might have in another version.
set -eu
. "${srcdir:-.}/tests/checks/undefined.sh"
library=${CP_LIBRARY:-.libs/libcprof.so}
[ -s "$library" ] || { echo "$library is not built" >&2; exit 1; }
elf() { ${READELF:-readelf} -W "$@"; }

mapfile -t sizes < <(elf -l "$library" | awk '$1 == "TLS" { print $6 }')
[ "${#sizes[@]}" -le 1 ] || fail "${#sizes[@]} TLS segments"
for size in "${sizes[@]}"; do
	[ $((size)) -lt 256 ] || fail "TLS takes $((size)) bytes: a dlopen of it may fail"
done
if ${NM:-nm} -D -u "$library" | grep -q '__tls_get_addr'; then
	fail "__tls_get_addr is called: some TLS is not initial-exec"
fi
if elf -r "$library" | grep -q 'DTPMOD\|TLSDESC'; then
	fail "some TLS is not initial-exec"
fi

dynamic=$(elf -d "$library")
grep -q 'BIND_NOW\|Flags:.*NOW' <<<"$dynamic" || fail "not bound at load (-z now)"
grep -q 'NODELETE' <<<"$dynamic" || fail "can be unloaded (-z nodelete is missing)"
grep -q 'TEXTREL' <<<"$dynamic" && fail "has text relocations"
while read -r needed; do
	case $needed in
	libc.so.6 | ld-linux-*.so.[12] | libc.musl-*.so.1) ;;
	*) fail "needs $needed" ;;
	esac
done < <(sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' <<<"$dynamic")
elf -l "$library" | grep -q 'GNU_STACK.* RWE' && fail "asks for an executable stack"
exit $failed
