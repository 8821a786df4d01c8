# SPDX-License-Identifier: BSD-3-Clause
# Trap: code outside of ELF files: a JIT's in anonymous memory, its own or shared, in a memfd, in a file that is not
# ELF. Its samples keep their mapping under the kernel's name, and the callers above it.
. "$srcdir/tests/lib/loader.sh"

case_of() { # name kind mapping begin-of-its-function
	profiled "$1" ./tests/traps/hosts/jit-host "$2" "$work/code.bin"
	[ "$status" = 77 ] && { echo "SKIP $1: $(cat "$work/$1.err")"; return; }
	check_ended_valid "$1" 0
	check_top "$work/$1.pb" 1 "$4"
	# Without call frame information, only our own reader gets to the caller.
	[ "$CPROF_UNWIND" = dwarf ] && check_stack "$work/$1.pb" "	${4//+/\\+}[0-9a-f]+;(//anon[^;]*;)?run;main;"
	has_go || return
	mappings "$work/$1.pb" | grep -qF " $3 " || fail "$1: no mapping $3: $(mappings "$work/$1.pb")"
	go tool pprof -top "$work/$1.pb" >"$work/top" 2>/dev/null || fail "$1: pprof can't read it"
}

for unwinder in dwarf fp libunwind; do
	export CPROF_UNWIND=$unwinder
	case_of anon anon //anon '//anon+0x'
	case_of shared shared //anon '//anon+0x'
	case_of jumped jumped //anon '//anon+0x'
	[ "$CPROF_UNWIND" != dwarf ] || [ "$status" = 77 ] ||
		check_stack "$work/jumped.pb" '	//anon\+0x[0-9a-f]+;//anon\+0x[0-9a-f]+;run;main;'
	case_of memfd memfd '/memfd:jit code' 'memfd:jit code+0x10'
	case_of named named "$work/code.bin" 'code.bin+0x10'
done

# A JIT that writes down what it made.
for kind in anon shared memfd; do
	CPROF_UNWIND=dwarf profiled "said-$kind" ./tests/traps/hosts/jit-host $kind "$work/code.bin" jit_said
	map=$(grep -x '/tmp/perf-[0-9]*\.map' "$work/said-$kind.out") && rm -f "$map"
	[ "$status" = 77 ] && continue
	check_status "said-$kind" 0
	check_valid "$work/said-$kind.pb"
	check_stack "$work/said-$kind.pb" '	jit_said;run;main;'
done
finish
