# SPDX-License-Identifier: BSD-3-Clause
# cprof_start and the others, from a linked program: files, windows, refusals, statistics.
. "$srcdir/tests/lib/e2e.sh"

mkdir "$work/files"
ends_well bare api ./tests/e2e/api-host "$work/files"
grep -qx 'as expected' "$work/api.out" || fail "$(cat "$work/api.out")"
check_quiet api
cd "$work/files" || exit 1
check_valid first.pb first.0001.pb asked.pb fd.pb second.pb
for file in first.pb first.0001.pb asked.pb fd.pb; do
	check_stack "$file" '(^|	|;)first_window[.;]'
	check_stack "$file" 'other_thread[.;]'
	"$pprof_check" --raw "$file" | grep -q 'window=first,who=me\|who=me,window=first' || fail "$file: labels are missing"
done
check_stack second.pb 'second_window[.;]'
for wrong in before_start paused_part between second_window; do
	"$pprof_check" --raw first.pb | grep -q "$wrong" && fail "first.pb holds $wrong"
done
for wrong in first_window other_thread between; do
	"$pprof_check" --raw second.pb | grep -q "$wrong" && fail "second.pb holds $wrong"
done
[ "$("$pprof_check" --raw first.pb | grep -o 'tid=[0-9]*' | sort -u | wc -l)" = 3 ] || fail "first.pb has not three threads"
files=$(echo ./*)
[ "$files" = "./asked.pb ./before.pb ./fd.pb ./first.0001.pb ./first.pb ./second.pb" ] || fail "files: $files"
finish
