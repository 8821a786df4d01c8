# SPDX-License-Identifier: BSD-3-Clause
# A mode is one folder and one row: a mode that counts calls of getpid, in a variant of the library (tests/toy/local.mk),
# has settings, a file, dumps, labels, comments, statistics and a number in the API, and other modes don't notice it.
. "$srcdir/tests/lib/e2e.sh"
host=$builddir/tests/toy/toy-host
raw=$work/raw

check_calls() { # file calls regex: what the samples are worth in which a function, or a label, is
	"$pprof_check" --raw "$1" >"$raw" 2>&1 || harm "$1 is not valid: $(head -n 5 "$raw")"
	got=$(awk -v wanted="$3" '$0 ~ wanted { split($1, value, ","); calls += value[2] } END { print calls + 0 }' "$raw")
	[ "$got" = "$2" ] || fail "$1: $got calls in $3, not $2: $(cat "$raw")"
}
check_files() { # folder files
	got=$(cd "$1" && echo *)
	[ "$got" = "$2" ] || fail "$1 holds $got, not $2"
}
check_said() { # name text
	grep -qF -- "$2" "$work/$1.err" || fail "$1: nothing says \"$2\": $(cat "$work/$1.err")"
}

# The library that is installed knows nothing of it.
grep -q TOYPROFILE "$CP_LIBRARY" && fail "$CP_LIBRARY has the toy mode"
mkdir "$work/env" "$work/api" "$work/both"
export CPROF_CHECKPOINT=0

# By the environment: the file, a dump by signal, labels, comments; a child has a file of its own.
TOYPROFILE=$work/env/toy.pb TOYPROFILE_EVERY=5 CPROF_LABELS=who=me CPROF_VERBOSE=1 \
	bare env "$host" plain "$work/env/toy.0001.pb"
check_status env 0
check_said env "toy profile of toy-host"
check_said env "toy: one sample for 5 calls; 1610 calls, 322 samples"
mv "$work/env/"toy.pb.* "$work/env/child.pb"
check_files "$work/env" "child.pb toy.0001.pb toy.pb"
for file in "$work/env/toy.0001.pb" "$work/env/toy.pb"; do
	check_calls "$file" 1000 'getpid;asks_often[.;]'
	check_calls "$file" 100 'getpid;asks_seldom[.;]'
	check_calls "$file" 500 'getpid;thread_asks[.;]'
	check_calls "$file" 10 'sample=first'
done
check_calls "$work/env/toy.0001.pb" 1600 'who=me'
check_calls "$work/env/toy.pb" 1610 'who=me'
check_calls "$work/env/toy.pb" 10 'asks_later'
check_comment "$work/env/toy.0001.pb" '^toy: one sample for 5 calls; 1600 calls, 320 samples$'
check_calls "$work/env/child.pb" 50 '.'
check_calls "$work/env/child.pb" 50 'child_asks'

# By the API: options, numbers, statistics; options of a program that knows nothing of the mode.
cd "$work/api" || exit 1
bare api "$host" api
check_status api 0
check_quiet api
check_files "$work/api" "asked.pb cpu.pb toy.pb"
for file in asked.pb toy.pb; do
	check_calls "$file" 1600 '.'
	check_calls "$file" 1000 'asks_often'
done
[ "$("$pprof_check" --raw cpu.pb | grep -c 'sample=')" = 0 ] || fail "cpu.pb has the toy mode's labels"
cd "$builddir" || exit 1

# What is wrong with its settings is said as for any mode.
CPUPROFILE=$work/both/x.pb TOYPROFILE=$work/both/x.pb TOYPROFILE_EVERY=5000 bare both "$host" api
check_said both "TOYPROFILE_EVERY=5000: accepted is 1 to 1000 calls; using 1000"
check_said both "accepted is a path other than CPUPROFILE's; using $work/both/x.toy.pb"
check_files "$work/both" "x.pb x.toy.pb"
CPUPROFILE=$work/both/x.pb TOYPROFIL=x bare misspelt "$host" api
check_said misspelt "TOYPROFIL is not a setting: did you mean TOYPROFILE?"
finish
