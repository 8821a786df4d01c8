# SPDX-License-Identifier: BSD-3-Clause
# Everything that has ever hurt an unwinder, at once and sampled 4000 times a second: for STORM_SECONDS (default 300)
# in all, with each engine that there is. No crash, no hang, and in the profile each planted function is in its own
# module and is called only by its true caller. make check-all has ten seconds of it.
. "$srcdir/tests/lib/e2e.sh"

seconds=${STORM_SECONDS:-300}
export CPUPROFILE_FREQUENCY=4000 CPROF_CHECKPOINT=5s

for m in red green blue; do
	$CC -O2 -g -fPIC -shared -fomit-frame-pointer -DNAME="$m" -o "$work/$m.so" \
		"$srcdir/tests/stress/storm-module.c" || fail "$m.so: not built"
done

# planted function, caller, ...: the frames above x_burn in every stack that goes on.
check_callers() { # profile
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F'\t' '
		BEGIN {
			caller["throw_burn"] = "throw_deep"
			caller["phdr_burn"] = "phdr_callback"
			caller["recurse_burn"] = "recurse_down"
			caller["jump_burn"] = "jump_inner"
			caller["coroutine_burn"] = "coroutine_turn"
			caller["coroutine_turn"] = "coroutine_main"
			caller["handler_burn"] = "on_signal"
			caller["churn_burn"] = "churn_thread"
			caller["last_burn"] = "last_thread"
			caller["phdr_callback"] = "*dl_iterate_phdr"
			n = split("red green blue", m, " ")
			for (i = 1; i <= n; i++) {
				caller[m[i] "_burn"] = m[i] "_middle"
				caller[m[i] "_middle"] = m[i] "_entry"
			}
		}
		{
			split($1, v, ",")
			all += v[1]
			if ($3 ~ /\[incomplete\]$/) incomplete += v[1]
			n = split($3, f, ";")
			for (i = 1; i < n; i++) {
				if (!(f[i] in caller)) continue
				seen[f[i]] += v[1]
				want = caller[f[i]]
				if (f[i + 1] == want || (substr(want, 1, 1) == "*" && index(f[i + 1], substr(want, 2)))) continue
				if (f[i + 1] ~ /^\[/) { cut++; continue }
				wrong++
				if (wrong < 10) print "wrong caller of " f[i] ": " $3
			}
		}
		END {
			# Handlers on an alternate stack hold no samples: docs/signal-safety.md.
			delete caller["handler_burn"]
			# Of threads that live for a fifth of a millisecond a timer sees hardly any: docs/engines.md.
			delete caller["churn_burn"]
			for (name in caller) if (!seen[name]) { print "never seen: " name; unseen++ }
			printf "%d samples, %d incomplete (%.3f %%), %d wrong callers, %d functions never seen\n", all, incomplete, 100 * incomplete / all, wrong, unseen
			if (incomplete * 100 > all) { print "more than 1 % are incomplete"; wrong++ }
			exit wrong + unseen > 0
		}' || failures=$((failures + 1))
}

# The mapping of each planted function of a module is that module.
check_modules() { # profile
	command -v go >/dev/null || { echo "go is not installed: modules are not checked"; return; }
	go tool pprof -symbolize=none -raw "$1" >"$work/raw" 2>"$work/raw.err" ||
		{ fail "$1: pprof, status $?: $(tail -n 3 "$work/raw.err")"; return; }
	awk '
		/^Locations/ { in_locations = 1; next }
		/^Mappings/ { in_locations = 0; in_mappings = 1; next }
		in_locations && /^ *[0-9]+: 0x/ && match($0, /(red|green|blue)_(burn|middle|entry)/) {
			name = substr($0, RSTART, RLENGTH)
			sub(/_.*/, "", name)
			mapping = match($0, /M=[0-9]+/) ? substr($0, RSTART + 2, RLENGTH - 2) : "none"
			wants[mapping " " name] = $0
		}
		in_mappings && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); path[id] = $0 }
		END {
			for (w in wants) {
				split(w, x, " ")
				n++
				if (index(path[x[1]], "/" x[2] ".so") == 0) print "in a wrong module: " wants[w] ": " path[x[1]]
			}
			if (!n) print "no planted function of a module"
		}' "$work/raw" >"$work/wrong"
	[ ! -s "$work/wrong" ] || fail "$1: $(head -n 5 "$work/wrong")"
}

storm() { # name seconds
	limit="timeout -s KILL $(($2 + 120))" profiled "$1" ./tests/stress/storm-host "$2" \
		"$work/red.so" "$work/green.so" "$work/blue.so"
	echo "$1: $(tail -n 1 "$work/$1.out")"
	check_ended_valid "$1" 0
	check_callers "$work/$1.pb"
	check_modules "$work/$1.pb"
}

CPROF_CPU_ENGINE=timer storm timer $((seconds / 2))
CPROF_CPU_ENGINE=perf storm perf $((seconds - seconds / 2))
finish
