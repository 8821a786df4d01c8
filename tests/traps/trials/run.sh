# SPDX-License-Identifier: BSD-3-Clause
# Ten seconds of each trial of tests/stress/trials.sh, all at the same time: they are processes that don't know of each other.
. "$srcdir/tests/lib/e2e.sh"
export TRIAL_SECONDS=10
pids=
for trial in dumps signals stops churn forks execs descriptors memory disk readonly clock; do
	TRIALS=$trial bash "$srcdir/tests/stress/trials.sh" >"$work/$trial.log" 2>&1 &
	pids="$pids $trial:$!"
done
for pid in $pids; do
	wait "${pid#*:}" || fail "${pid%:*}: $(cat "$work/${pid%:*}.log")"
	grep '^#' "$work/${pid%:*}.log"
done
finish
