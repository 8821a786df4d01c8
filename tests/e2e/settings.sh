# SPDX-License-Identifier: BSD-3-Clause
# Settings from the environment: good ones take effect, bad ones are said in one line and
# the program runs on, and nobody hears of them without a mode or twice.
. "$srcdir/tests/lib/e2e.sh"
need perl

lines() { # name
	grep -c '^libcprof: ' "$work/$1.err"
}

busy='my $x = 0; $x += $_ % 7 for 1 .. 3000000; print "$x\n"'
bare plain perl -e "$busy"

# variable=value, then what the line must hold
refused() {
	setting=$1
	shift
	ends_well profiled bad env "$setting" perl -e "$busy"
	check_same_output bad plain
	[ "$(lines bad)" = 1 ] || fail "$setting: $(lines bad) lines: $(cat "$work/bad.err")"
	for text in "${setting%%=*}=${setting#*=}" "$@"; do
		grep -qF -- "$text" "$work/bad.err" || fail "$setting: no \"$text\" in: $(cat "$work/bad.err")"
	done
	check_valid "$work/bad.pb"
}

refused CPUPROFILE_FREQUENCY=often "1 to 10000" "using 99"
refused CPUPROFILE_FREQUENCY=20000 "1 to 10000" "using 10000"
refused CPROF_SIGNAL=KILL "using USR2"
refused CPROF_CHECKPOINT=soon "using 1m"
refused CPROF_UNWIND=luck "libunwind" "using auto"

CPUPROFILE_FREQUENCY=500 profiled fast perl -e "$busy"
check_quiet fast
"$pprof_check" --comments "$work/fast.pb" | grep -q "frequency 500 Hz" || fail "the frequency is not in the comments"

# A family of processes says it once.
CPUPROFILE_FREQUENCY=often profiled family sh -c 'perl -e 1; perl -e 1 & wait; (exec perl -e 1); true'
[ "$(lines family)" = 1 ] || fail "a family said it $(lines family) times: $(cat "$work/family.err")"

# No mode, no word.
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE_FREQUENCY=often CPROF_SIGNAL=KILL perl -e 1 >"$work/idle.out" 2>&1
[ -s "$work/idle.out" ] && fail "said without a mode: $(cat "$work/idle.out")"

# Misspelt variables: once for a family; also where no mode is on because of it.
misspelt() { # NAME=VALUE text
	env "$1" LD_PRELOAD="$CP_LIBRARY" sh -c 'perl -e 1; perl -e 1 & wait; (exec perl -e 1); true' >"$work/misspelt.out" 2>"$work/misspelt.err"
	[ "$(grep -c "^libcprof: ${1%%=*} " "$work/misspelt.err")" = 1 ] && grep -qF -- "$2" "$work/misspelt.err" ||
		fail "$1: not \"$2\" once: $(cat "$work/misspelt.err")"
}
misspelt "CPUPROFLE=$work/no.pb" "did you mean CPUPROFILE?"
misspelt "CPU_PROFILE=$work/no.pb" "did you mean CPUPROFILE?"
misspelt "HEAP_PROFILE=$work/no.pb" "did you mean HEAPPROFILE?"
misspelt "heapprofile=$work/no.pb" "did you mean HEAPPROFILE?"
export CPUPROFILE=$work/misspelt.pb
misspelt CPROF_LOCK_TRESHOLD=5us "CPROF_LOCK_TRESHOLD is not a setting; cprof-environment(7) lists all settings"
# A setting that is set is not reported for its neighbours, nor is any existing setting.
documented=$(grep -oE 'CPROF_[A-Z_]+' "$srcdir/man/cprof-environment.7" | sort -u)
[ "$(wc -w <<<"$documented")" -gt 14 ] || fail "the manual page has only $documented"
env CPU_PROFILE=1 GOPROFILE=1 PROFILE=1 ${documented//$'\n'/= }= LD_PRELOAD="$CP_LIBRARY" perl -e 1 2>"$work/known.err"
[ -s "$work/known.err" ] && fail "said of what is a setting: $(cat "$work/known.err")"
unset CPUPROFILE

# Two modes with one path.
HEAPPROFILE=$work/both.pb profiled both perl -e "$busy"
[ "$(lines both)" = 1 ] || fail "one path for two modes: $(lines both) lines"
grep -qF "a path other than CPUPROFILE's; using $work/both.heap.pb" "$work/both.err" || fail "one path for two modes: $(cat "$work/both.err")"
check_valid "$work/both.pb"
check_valid_as heap "$work/both.heap.pb"

# Programs are chosen by name.
CPROF_ONLY='no-such*,ot?er' profiled others perl -e "$busy"
[ ! -e "$work/others.pb" ] || fail "CPROF_ONLY did not leave perl out"
CPROF_ONLY='no-such*,p[a-f]rl' profiled chosen perl -e "$busy"
check_valid "$work/chosen.pb"

# Templates.
LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/%e-%p.pb" perl -e "$busy" >"$work/template.out" 2>&1 &
wait $!
check_valid "$work/perl-$!.pb"
JOB=a/7 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/%q{JOB}-%q{NO_SUCH_JOB}.pb" perl -e "$busy" >"$work/template.out" 2>&1
check_valid "$work/a_7-.pb"
# A program has the name that it was started by.
ln -s "$(command -v perl)" "$work/by-another-name"
LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/%e.pb" "$work/by-another-name" -e "$busy" >"$work/template.out" 2>&1
check_valid "$work/by-another-name.pb"
finish
