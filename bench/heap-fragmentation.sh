#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fragmentation against the truth: RUNS runs over each allocator at the default number of pages; the mean of what each site
# holds, and how many standard errors it is off. The standard error is that of the mean, from the runs' own scatter.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	: >"$work/all"
	for _ in $(seq "${RUNS:-30}"); do
		CPROF_SYMBOLIZE=names CPROF_CHECKPOINT=0 CPROF_HEAP_VIEWS=fragmentation \
			heap_profiled census ./tests/e2e/heap-census-host
		sed 's/^/truth /' "$work/census.out" >>"$work/all"
		heap_sites "$work/census.fragmentation.pb" | sed 's/^run/estimate/' >>"$work/all"
		echo end >>"$work/all"
	done
	echo "$allocator"
	awk '
		$1 == "truth" { held[$2] = $3; sites[$2]; next }
		$1 == "estimate" { got[$2] = $6; next }
		{
			n++
			for (s in sites) {
				d = got[s] - held[s]
				sum[s] += d; squares[s] += d * d; truth[s] += held[s]; estimate[s] += got[s]
				all += d; all_truth += held[s]
			}
			delete got
		}
		END {
			for (s in sites) {
				mean = sum[s] / n
				error = sqrt((squares[s] / n - mean * mean) / (n - 1))
				z = error ? mean / error : 0
				printf "%-14s %8.0f kB held, %8.0f kB estimated, %+5.1f%%, %+5.1f standard errors\n", s, truth[s] / n / 1024, estimate[s] / n / 1024, 100 * mean * n / truth[s], z
				if (z > 3 || z < -3) wrong = 1
			}
			printf "%-14s %+5.1f%%\n", "all", 100 * all / all_truth
			exit wrong
		}' "$work/all" || echo "more than 3 standard errors off"
done
