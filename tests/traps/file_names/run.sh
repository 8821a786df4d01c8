# SPDX-License-Identifier: BSD-3-Clause
# Templates, ranks of parallel jobs, CPROF_ONLY, CPROF_FOLLOW, and programs that change directory.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=1000
tests=$PWD/tests/traps/hosts
execs=$tests/execs

run() { # directory profile command...
	mkdir -p "$work/$1"
	(
		cd "$work/$1" || exit 1
		profile=$2
		shift 2
		env LD_PRELOAD=$CP_LIBRARY CPUPROFILE=$profile "$@" >out 2>err
	)
	status=$?
}

# Of the files of this name exactly one holds work in FUNCTION; all are valid. (A shell that was
# just forked may have a sample, and a file, too.)
has() { # directory file function
	holding=0
	for file in "$work/$1"/$2; do
		[ -e "$file" ] || continue
		check_valid "$file"
		"$pprof_check" --raw "$file" | grep -q "$3" && holding=$((holding + 1))
	done
	[ "$holding" = 1 ] || fail "$1: $3 is in $holding files called $2: $(ls -R "$work/$1")"
}

run pid 'p-%p.pb' "$execs" work first
has pid 'p-[0-9]*.pb' first
run program '%e.pb' "$execs" work first
has program 'execs.pb' first
run time 't-%t.pb' "$execs" work first
has time 't-20[0-9][0-9][01][0-9][0-3][0-9]-[0-9]*.pb' first
run host 'h-%h.pb' "$execs" work first
has host "h-$(uname -n).pb" first
run percent '100%%.pb' "$execs" work first
has percent '100%.pb' first
run number 'n.%n.pb' "$tests/dump-host" send 12 n.0001.pb
check_valid "$work/number/n.pb" "$work/number/n.0001.pb"
run percent%p/dir 'x.pb' "$execs" work first
has percent%p/dir x.pb first

for variable in OMPI_COMM_WORLD_RANK PMI_RANK MV2_COMM_WORLD_RANK SLURM_PROCID; do
	for rank in 0 3; do
		export "$variable=$rank"
		run "$variable" r.pb "$execs" work first
		unset "$variable"
	done
	has "$variable" r.pb.rank-0 first
	has "$variable" r.pb.rank-3 first
done
PMI_RANK=1 run rank-pid 'r-%p.pb' "$execs" work first
has rank-pid 'r-[0-9]*.pb' first

# Each process of a tree has its own pid in a name with %p, and no second pid after it.
run tree 't-%p.pb' bash -c "$execs work first; $execs work second; true"
has tree 't-[0-9]*.pb*' first
has tree 't-[0-9]*.pb*' second

CPROF_ONLY='ex?cs' run only o.pb bash -c "for i in 1 2 3 4 5 6 7 8 9; do :; done; $execs work first; true"
has only 'o.pb.[0-9]*' first
[ -e "$work/only/o.pb" ] && fail "CPROF_ONLY: bash was profiled"
CPROF_FOLLOW=0 run follow f.pb "$tests/forks" once
[ "$status" = 0 ] || fail "CPROF_FOLLOW=0: status $status: $(cat "$work/follow/out")"
has follow f.pb parent_work
[ "$(find "$work/follow" -name 'f.pb*' | wc -l)" = 1 ] || fail "CPROF_FOLLOW=0: $(ls "$work/follow")"
CPROF_FOLLOW=0 run follow-threads f.pb "$tests/forks" thread
[ "$status" = 0 ] || fail "CPROF_FOLLOW=0, threads in the child: status $status"
[ "$(find "$work/follow-threads" -name 'f.pb*' | wc -l)" = 1 ] || fail "CPROF_FOLLOW=0: $(ls "$work/follow-threads")"
CPROF_FOLLOW=0 run follow-exec f.pb "$tests/spawns" spawn
has follow-exec f.pb parent_work
[ "$(find "$work/follow-exec" -name 'f.pb*' | wc -l)" = 1 ] || fail "CPROF_FOLLOW=0, exec: $(ls "$work/follow-exec")"

# Unrelated processes with one path: each has a file, the first to end that of this name; nothing else is left.
mkdir -p "$work/unrelated"
mkfifo "$work/go"
exec 9<>"$work/go"
for i in 1 2 3; do
	{
		echo "burn 0.1"
		read -r x <"$work/go"
		echo end
	} | (cd "$work/unrelated" && exec env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE=u.pb "$tests/control-host") >"$work/said.$i" &
done
have_burnt() { # number
	[ "$(cat "$work"/said.* | grep -c "^did burn")" = "$1" ]
}
are_there() { # number pattern
	[ "$(find "$work" -path "$2" | wc -l)" = "$1" ]
}
wait_for 30 have_burnt 3 || fail "unrelated processes didn't start"
for i in 1 2 3; do
	printf '\n' >&9
	wait_for 30 are_there "$i" "$work/unrelated/u.pb*" || fail "unrelated: $(ls -A "$work/unrelated")"
done
wait
exec 9>&-
check_valid "$work/unrelated"/u.pb*
# The next one replaces the file, as ever.
run unrelated u.pb "$execs" work second
[ "$(find "$work/unrelated" -name 'u.pb*' | wc -l)" = 3 ] || fail "the next one: $(ls -A "$work/unrelated")"

# A relative path starts from where the first process was started.
mkdir -p "$work/chdir/sub"
run chdir c.pb "$execs" none bash -c "cd sub && $execs work first; true"
has chdir 'c.pb.[0-9]*' first
mkdir -p "$work/chdir-system/sub"
run chdir-system c.pb "$tests/moves" system sub "$execs work second"
has chdir-system c.pb work
has chdir-system 'c.pb.[0-9]*' second
mkdir -p "$work/chdir-exec/sub"
run chdir-exec c.pb "$execs" none sh -c "cd sub && exec $execs work first"
has chdir-exec 'c.pb*' first
finish
