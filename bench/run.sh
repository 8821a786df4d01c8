#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make bench`: every part, then the tables (bench.txt), bench.json, and what was promised against what was measured. About
# 25 minutes; 1 is returned where a target is missed.
#
#     make bench BENCH='heap lock'      some parts only; `make bench BENCH=list` names them; edges by itself
#                                       means also ends, memory, blocks and short
#     make bench-docs                   everything, and docs/overhead.json and docs/overhead.md from it; with BENCH
#                                       only those parts' figures are replaced
#     make bench BENCH=accuracy ACCURACY_RUNS=30
#                                       estimates of all modes against the truth (bench/accuracy-table.sh); about 20 minutes
#
# In the build directory, with the settings of the tests. Nothing else should run on the machine. Settings of a part
# that are in the environment (ROUNDS, LOCK_ROUNDS, ...) win over those here. BENCH_PART_SECONDS (480, with ACCURACY_RUNS 2400)
# ends a part that hangs.
set -u
{ # read as a whole, so that a change of this file meanwhile does no harm
docs=${1:-}
parts='sample unwind heap views lock io wall growth dump ends edges memory blocks short programs large tool symbolize flame accuracy engines'
if [ "${BENCH:-}" = list ]; then
	echo "$parts"
	exit 0
fi
wanted=${BENCH:-$parts}
# Short and odd moments are measured by several parts.
[ "$wanted" != edges ] || wanted="edges ends memory blocks short"
here=$(cd "$(dirname "$0")" && pwd)
report() { python3 "$here/report.py" "$@"; }
command -v python3 >/dev/null || { echo "make bench: python3 makes the tables, and is not installed" >&2; exit 1; }
export BENCH_RECORDS=$PWD/bench.records PYTHONDONTWRITEBYTECODE=1
: >"$BENCH_RECORDS"
BENCH_PART_SECONDS=${BENCH_PART_SECONDS:-${ACCURACY_RUNS:+2400}}
began=$SECONDS
failed=

part() { # name [setting=value...] script-or-program
	part_name=$1
	shift
	case " $wanted " in *" $part_name "*) ;; *) return ;; esac
	part_began=$SECONDS
	printf '==> %s (%d:%02d since the start)\n' "$part_name" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
	printf '#part\t%s\t%s\t%s\n' "$part_name" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(cut -d ' ' -f 1 /proc/loadavg)" >>"$BENCH_RECORDS"
	settings=()
	while [[ ${1%%=*} != "$1" ]]; do
		setting=${1%%=*}
		[ -n "${!setting:-}" ] || settings+=("$1")
		shift
	done
	env "${settings[@]}" timeout -k 10 "${BENCH_PART_SECONDS:-480}" bash "$here/$1" "${@:2}" || failed="$failed $part_name"
	printf '    %s took %d s\n' "$part_name" $((SECONDS - part_began))
}

part sample OVERHEAD_PAIRS=0 OVERHEAD_STARTS=200 overhead.sh
part unwind unwind.sh
part heap ROUNDS=5 heap.sh
part views ROUNDS=31 views.sh
part lock LOCK_ROUNDS=31 lock.sh
part io io.sh
part wall WALL_SECONDS=3 WALL_ROUNDS=3 wall.sh
part wall ACCURACY_RUNS=5 ACCURACY_PARTS=wall accuracy.sh
part growth ROUNDS=2 GROWTH='threads depth' growth.sh
part dump dump.sh
part ends ENDS_ROUNDS=3 ends.sh
part edges EDGES_ROUNDS=200 edges.sh
part memory EDGES=memory edges.sh
part blocks ROUNDS=2 GROWTH='blocks stacks crowd alive' growth.sh
part short ACCURACY_PARTS=hard ACCURACY_PROGRAMS=threads,1 ACCURACY_ENGINE_SECONDS=2 ACCURACY_ENGINE_RUNS=1 accuracy.sh
part programs ROUNDS=4 programs.sh
part large PROGRAMS=clang-large BESIDE_ROUNDS=7 programs.sh
part tool RUNS=3 PPROF_SAMPLES=50000 tool.sh
part symbolize RUNS=3 WAYS=1 symbolize.sh
part flame flame.sh
part accuracy ACCURACY_SECONDS=3 ACCURACY_TOTAL_SECONDS=2 ACCURACY_ENGINE_SECONDS=1 ACCURACY_ENGINE_RUNS=1 accuracy.sh
part engines ENGINE_COST_PAIRS=3 engine-cost.sh

echo
report collect "$BENCH_RECORDS" bench.json || exit 1
if [ "$docs" = --docs ]; then
	merge=()
	[ -z "${BENCH:-}" ] || merge=(--into "$here/../docs/overhead.json")
	report collect "${merge[@]}" "$BENCH_RECORDS" bench.json || exit 1
	cp bench.json "$here/../docs/overhead.json"
	report docs bench.json "$here/overhead.md.in" >"$here/../docs/overhead.md" || exit 1
	echo "docs/overhead.json and docs/overhead.md are new"
fi
report docs bench.json "$here/overhead.md.in" >bench.txt
cat bench.txt
echo
printf 'took %d:%02d; tables: bench.txt, bench.json\n' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
[ -z "$failed" ] || echo "ended with an error:$failed"
report targets bench.json "$here/targets"
missed=$?
[ -z "$failed" ] && exit $missed
exit 1
}
