# SPDX-License-Identifier: BSD-3-Clause
# What an SDK of OpenTelemetry publishes of each thread (OTEP 4947) and of the process (OTEP 4719) is in the profile;
# records that are not valid are not believed.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/trace-context-host
trace=abababababababababababababababab

# Nanoseconds of the last sample type in samples with this label.
with() { # file label
	"$pprof_check" --raw "$1" | grep -F -- "$2" | awk -F '[,\t]' '{ s += $2 } END { printf "%.0f\n", s }'
}

# About SECONDS of time are with this label.
check_about() { # file label seconds
	with "$1" "$2" | awk -v s="$3" '{ exit !($1 > s * 0.7e9 && $1 < s * 1.3e9) }' ||
		fail "$1: $(with "$1" "$2") ns with $2, not about $3 s"
}

# A timer's tick may come late where processors are scarce, and counts for the span before, too.
CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=1000 WALLPROFILE="$work/wall.pb" WALLPROFILE_FREQUENCY=200 profiles_well profiled cpu "$host" 0.4
check_valid_as wall "$work/wall.pb"
for span in 1 2 3; do
	check_about "$work/cpu.pb" "0${span}00000000000001" 0.4
done
check_about "$work/cpu.pb" "trace_id=$trace" 1.2
check_no_stack "$work/cpu.pb" 'span_id=0[4-9]'
check_comment "$work/cpu.pb" 'resource: service.name=my é shop$'
check_comment "$work/cpu.pb" 'resource: service.instance.id=no . 17!$'
if [ -x ./cprof ]; then
	./cprof convert -to=otlp "$work/cpu.pb" -o "$work/cpu.otlp" && grep -qa 'my é shop' "$work/cpu.otlp" ||
		fail "the message does not say whose it is"
fi
# The worker also waits in its span.
"$pprof_check" --raw "$work/wall.pb" | grep waiting | grep -q 0300000000000001 ||
	fail "the worker's wait has no span: $("$pprof_check" --raw "$work/wall.pb" | head -n 5)"

CPUPROFILE_FREQUENCY=1000 ends_well profiled wrong "$host" wrong
check_no_stack "$work/wrong.pb" 'trace_id|span_id'

CPROF_LABEL_KEYS='route' CPUPROFILE_FREQUENCY=1000 profiled kept "$host" 0.1
check_no_stack "$work/kept.pb" 'trace_id|span_id'
finish
