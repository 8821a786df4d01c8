# SPDX-License-Identifier: BSD-3-Clause
# Threads that live for a part of the kernel's tick: each function has its share, and the start
# function, which computes nothing, isn't the leaf. The bounds are wide, 9 standard deviations of random
# samples of these weights: beside other load the first function has some points too much. What is
# looked for is gross: the start function had 84 %.
. "$srcdir/tests/lib/e2e.sh"

run() { # microseconds
	CPUPROFILE_FREQUENCY=1000 profiles_well profiled "$1" ./tests/e2e/short-threads-host 1 "$1"
	total=$("$pprof_check" --total "$work/$1.pb" | sed -n 's/^cpu nanoseconds //p')
	"$pprof_check" --times "$work/$1.pb" | awk -v life="$1" -v all="$total" "$awk_root"'
		function pause_until(now) {
			starved += now - last > 20e6 ? now - last - 20e6 : 0
			last = now
		}
		NR == FNR { truth[$1] = $2; next }
		$1 == "start" { end = $4 }
		$1 == "event" {
			pause_until($2)
			hit += $4
			if (match($7, /takes_[0-9]+/)) {
				got[substr($7, RSTART, RLENGTH)] += $4; sum += $4; squares += $4 * $4
			}
			none += $7 ~ /^computes_nothing/ ? $4 : 0
		}
		END {
			pause_until(end)
			for (f in truth) {
				if (f == "total")
					continue
				p = truth[f] / 100
				bound = 900 * root(p * (1 - p) * squares) / sum
				error = 100 * got[f] / sum - truth[f]
				printf "%s us: %s %.1f %%, error %+.1f, bound %.1f\n", life, f, truth[f], error, bound
				bad = bad || error > bound || -error > bound
			}
			used = truth["total"] * 1e9
			printf "%s us: total %.3f of %.3f s, the start function %.1f %%, not sampled %.1f %%, no tick for %.3f s\n",
				life, all / 1e9, used / 1e9, none * 100 / all, (all - hit) * 100 / all, starved / 1e9
			# A thread that a tick hits stands for up to 20 ms of what is not sampled; where no tick comes
			# for longer, none does.
			exit bad || all < used * 0.95 || all > used * 1.05 || none > all * 0.1 || all - hit > all * 0.5 + starved
		}' "$work/$1.out" - || fail "threads of $1 us: see above"
}

run 1000
run 3000

# What the kernel takes to make and to end a thread is in the total: a quarter of these threads' time, of
# which half was missing. And each thread has an expiry or none, by chance, but all of them have their time:
# the sum had a standard deviation of 2.8 %, and has 0.4 %.
CPUPROFILE_FREQUENCY=1000 profiles_well profiled ends ./tests/e2e/short-threads-host 0.3 50
"$cprof" info "$work/ends.pb" | awk '$1 == "cpu" && $2 == "time:" { print; found = $9 / $3 }
	END { exit !(found > 0.98 && found < 1.02) }' || fail "threads of 50 us: the total is another"

# Threads that pause don't take what is missed at the ends of the others.
CPUPROFILE_FREQUENCY=99 profiles_well profiled paused ./tests/traps/hosts/cpu-host paused 600 0.001
used=$(tail -n 1 "$work/paused.err")
total=$("$pprof_check" --total "$work/paused.pb" | sed -n 's/^cpu nanoseconds //p')
echo "beside paused threads: $total of $used ns"
[ "$total" -gt $((used * 80 / 100)) ] && [ "$total" -lt $((used * 120 / 100)) ] ||
	fail "beside paused threads: $total of $used ns"
finish
