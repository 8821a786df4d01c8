# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program loads many libraries that want static TLS (initial-exec), of which the
# loader keeps a small reserve: with the profiler there, one of them fails to load. That the library
# has no dynamic TLS, and less than 256 bytes of static, is the check tests/checks/tls.sh.
. "$srcdir/tests/lib/loader.sh"

plugin tls -DWITH_TLS=48
for i in $(seq 0 63); do cp "$work/tls.so" "$work/tls$i.so"; done
loaded() { sed -n 's/^loaded //p' "$work/$1.out"; }

bare plain "$host" fill "$work/tls"
ends_well profiled with "$host" fill "$work/tls" burn 50
check_valid "$work/with.pb"
[ "$(loaded plain)" -gt 0 ] || fail "nothing loads: $(cat "$work/plain.err")"
# TLS that exists at the start has its own room; only its rounding, to 64 bytes, is at stake.
[ $((($(loaded plain) - $(loaded with)) * 48)) -lt 64 ] ||
	harm "$(loaded plain) libraries load without the profiler, $(loaded with) with it"

# Loaded late the record itself comes out of the reserve: as many bytes, no more.
ends_well bare late "$host" open "$CP_LIBRARY" start "$work/late.pb" fill "$work/tls" stop
check_valid "$work/late.pb"
[ $((($(loaded plain) - $(loaded late)) * 48)) -lt 384 ] ||
	harm "$(loaded plain) libraries load alone, $(loaded late) after libcprof.so"
finish
