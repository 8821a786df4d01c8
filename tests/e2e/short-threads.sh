# SPDX-License-Identifier: BSD-3-Clause
# Threads that live for a part of the kernel's tick: each function has its share, and the start
# function, which computes nothing, isn't the leaf. The bounds are wide, 9 standard deviations of so
# many random samples: their weights differ, and beside other load the first function has some points
# too much. What is looked for is gross: the start function had 84 %.
. "$srcdir/tests/lib/e2e.sh"

run() { # microseconds
	CPUPROFILE_FREQUENCY=1000 profiles_well profiled "$1" ./tests/e2e/short-threads-host 1 "$1"
	"$pprof_check" --raw "$work/$1.pb" | awk -F '\t' -v life="$1" "$awk_root"'
		NR == FNR { split($0, t, " "); truth[t[1]] = t[2]; next }
		{
			split($1, v, ",")
			all += v[2]
			if (match($3, /takes_[0-9]+/)) {
				got[substr($3, RSTART, RLENGTH)] += v[2]; sum += v[2]; n += v[1]
			} else if ($3 ~ /^(computes_nothing|[[]not sampled)/) {
				none[substr($3, 1, 1)] += v[2]
			}
		}
		END {
			for (f in truth) {
				if (f == "total")
					continue
				p = truth[f] / 100
				bound = 900 * root(p * (1 - p) / n)
				error = 100 * got[f] / sum - truth[f]
				printf "%s us: %s %.1f %%, error %+.1f, bound %.1f\n", life, f, truth[f], error, bound
				bad = bad || error > bound || -error > bound
			}
			used = truth["total"] * 1e9
			printf "%s us: total %.3f of %.3f s, the start function %.1f %%, not sampled %.1f %%\n", life,
				all / 1e9, used / 1e9, none["c"] * 100 / all, none["["] * 100 / all
			# Making and ending threads is in the total, but not in the truth. Beside other load the tick
			# may stay away for tens of milliseconds: then few threads are hit, and each stands only for
			# some of what is not sampled, but for more than its life.
			exit bad || all < used * 0.9 || all > used * 1.5 || none["c"] > all * 0.1 ||
				(none["["] > all * 0.5 && sum < n * 5e6)
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
