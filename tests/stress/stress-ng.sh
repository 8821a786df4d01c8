# SPDX-License-Identifier: BSD-3-Clause
# Every stressor of stress-ng for a second: without the library, and with all six modes on. Its exit status must be
# the same; the status includes the findings of --verify. Prints a table with the work that was done. A stressor that
# works at less than half the rate must be in tests/stress/stress-ng.txt, with the reason; the stressors that aren't
# run are there, too.
#
#     STRESSORS='fork prctl'   these only, also ones that aren't run otherwise
#     STRESSOR_SECONDS=1       of each run
#
# As root, stressors run as nobody, who can't hurt the machine, with a bound on processes.
. "${srcdir:?is the source directory}/tests/lib/e2e.sh"
command -v stress-ng >/dev/null || { echo "stress-ng is not installed: not run"; exit 0; }
table=$srcdir/tests/stress/stress-ng.txt
seconds=${STRESSOR_SECONDS:-1}
unprivileged=()
if [ "$(id -u)" = 0 ]; then
	unprivileged=(setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=600)
fi
mkdir "$work/ng"
cp "$CP_LIBRARY" "$work/ng/libcprof.so"
chmod 755 "$work" "$work/ng"

# The first word after a stressor's name in the table: skip, or half.
word() { # stressor
	awk -v name="$1" '$1 == name { print $2 }' "$table"
}

all() {
	for s in $(stress-ng --stressors); do
		[ "$(word "$s")" = skip ] || echo "$s"
	done
}

# Status in $status, work a second in $rate, ms in $took.
run() { # stressor what, settings...
	local name=$1 dir=$work/ng/$2 began=$EPOCHREALTIME
	shift 2
	rm -rf "$dir"
	mkdir -m 777 "$dir"
	status=0
	(cd "$dir" && exec timeout -k 5 60 "${unprivileged[@]}" env "$@" stress-ng --"$name" 1 --timeout "$seconds" --verify --oomable \
		--metrics-brief --yaml "$dir/metrics" --temp-path "$dir") >"$dir.out" 2>&1 </dev/null || status=$?
	took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
	rate=$(awk '/bogo-ops-per-second-real-time:/ { print $2 }' "$dir/metrics" 2>/dev/null)
	rate=${rate:-0}
}

bare_run() { # stressor
	run "$1" bare CPROF_STRESS=
}

profiled_run() { # stressor
	local p=$work/ng/all
	run "$1" all LD_PRELOAD="$work/ng/libcprof.so" CPUPROFILE="$p/cpu.pb" WALLPROFILE="$p/wall.pb" \
		HEAPPROFILE="$p/heap.pb" LOCKPROFILE="$p/lock.pb" IOPROFILE="$p/io.pb" EVENTPROFILE="$p/event.pb"
}

is_less_than_half() { # rate bare-rate
	awk -v rate="$1" -v bare="$2" 'BEGIN { exit !(rate * 2 < bare) }'
}

greater() {
	awk -v a="$1" -v b="$2" 'BEGIN { print (a > b ? a : b) }'
}

slow=0 count=0
printf '%-16s %7s %7s %14s %14s %8s %s\n' stressor bare all 'bare, ops/s' 'all, ops/s' all/bare 'ms longer'
for name in ${STRESSORS:-$(all)}; do
	count=$((count + 1))
	bare_run "$name"
	bare_status=$status bare_rate=$rate bare_took=$took
	profiled_run "$name"
	[ "$status" = "$bare_status" ] ||
		fail "$name: exit status $status, not $bare_status: $(tail -n 5 "$work/ng/all.out")"
	if is_less_than_half "$rate" "$bare_rate"; then
		# A second is short: the better one of two pairs.
		first=$rate
		bare_run "$name"
		bare_rate=$(greater "$rate" "$bare_rate")
		profiled_run "$name"
		[ "$status" = "$bare_status" ] || fail "$name: exit status $status, not $bare_status, the second time"
		rate=$(greater "$rate" "$first")
	fi
	printf '%-16s %7s %7s %14s %14s %8s %s\n' "$name" "$bare_status" "$status" "$bare_rate" "$rate" \
		"$(awk -v rate="$rate" -v bare="$bare_rate" 'BEGIN { if (bare > 0) printf "%.2f", rate / bare; else print "-" }')" \
		$((took - bare_took))
	for mode in cpu wall heap lock io event; do
		[ ! -e "$work/ng/all/$mode.pb" ] || check_valid_as "$mode" "$work/ng/all/$mode.pb"
	done
	is_less_than_half "$rate" "$bare_rate" || continue
	slow=$((slow + 1))
	[ "$(word "$name")" = half ] || fail "$name: less than half the work, and no reason for it in $table"
done
echo "$count stressors, $slow at less than half the rate"
finish
