# SPDX-License-Identifier: BSD-3-Clause
# Trap: sampled sizes are summed as they are: 200 MB in blocks of 16 bytes are shown as 38 kB, and the same in
# blocks of a megabyte as 38 MB.
. "$srcdir/tests/lib/heap.sh"

runs_well heap_profiled weights ./tests/traps/hosts/heap-odd weights
# 400 samples of the first, 5 % of standard error; of the second, 86 % of all blocks.
for site in site_tiny site_large; do
	read -r _ bytes _ <<<"$(heap_values "$work/weights.pb" $site)"
	[ "$bytes" -gt 157000000 ] && [ "$bytes" -lt 262000000 ] ||
		fail "$site: $bytes bytes, not 209715200"
done
finish
