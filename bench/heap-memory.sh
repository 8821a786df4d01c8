#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory for a live set of many blocks: resident size bare, at the default interval and in exact mode,
# over each allocator.
#
#     BLOCKS=10000000 bench/heap-memory.sh
set -u
blocks=${BLOCKS:-10000000}
library=${CP_LIBRARY:-$PWD/.libs/libcprof.so}
work=$(mktemp -d)
trap 'wait; rm -rf "$work"' EXIT
cat >"$work/fill.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	unsigned n = (unsigned)atoi(argv[argc - 1]);
	uint64_t x = 1, bytes = 0;
	char line[256], **all = malloc(n * sizeof(*all));
	for (unsigned i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		size_t size = 16 + (x >> 40) % 225;
		bytes += size;
		all[i] = malloc(size);
		memset(all[i], 1, size);
	}
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmRSS:", 6))
			printf("%lu %lu\n", (unsigned long)(bytes >> 10), strtoul(line + 6, NULL, 10));
	fflush(stdout);
	return 0;
}
END
${CC:-cc} -O1 -fno-builtin -o "$work/fill" "$work/fill.c" || exit 1
printf '%-28s %12s %12s %12s %14s %12s\n' "kB, $blocks blocks" heap bare 512K "% of heap" "exact: bytes a block"
for allocator in "" libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	LD_PRELOAD=$allocator sh -c : 2>&1 | grep -q . && continue
	read -r heap bare < <(LD_PRELOAD=$allocator "$work/fill" "$blocks")
	read -r _ sampled < <(LD_PRELOAD="$library $allocator" HEAPPROFILE="$work/p.pb" "$work/fill" "$blocks" 2>/dev/null)
	read -r _ exact < <(LD_PRELOAD="$library $allocator" HEAPPROFILE="$work/p.pb" CPROF_HEAP_INTERVAL=1 "$work/fill" "$blocks" 2>/dev/null)
	awk -v t="${allocator:-glibc}" -v h="$heap" -v b="$bare" -v s="$sampled" -v e="$exact" -v n="$blocks" 'BEGIN {
		printf "%-28s %12d %12d %12d %14.2f %12.1f\n", t, h, b, s, (s - b) * 100 / h, (e - b) * 1024 / n }'
done
