# SPDX-License-Identifier: BSD-3-Clause
# The label "bytes" of sampled stacks is the mean size of their blocks, rounded: where all are of 80 bytes it says 80,
# however the estimated number of blocks was rounded.
. "$srcdir/tests/lib/heap.sh"
need "$cprof" python3
cd "$work" || exit 1

{
	echo '#include <stdlib.h>'
	for i in $(seq 40); do
		echo "__attribute__((noipa)) void *site_$i(void) { void *p = malloc(80); __asm__ volatile(\"\" : \"+r\"(p)); return p; }"
	done
	echo 'int main(void) { for (int i = 0; i < 20000; i++) {'
	for i in $(seq 40); do echo "site_$i();"; done
	echo '} return 0; }'
} >sizes.c
$CC -O1 -o sizes sizes.c || fail "the host doesn't compile"
for interval in 512K 128K; do
	CPROF_HEAP_INTERVAL=$interval ends_well heap_profiled sizes ./sizes
	"$cprof" tags -json -focus=site_ -sample_index=alloc_space sizes.pb >tags.json || fail "cprof tags"
	python3 - <<'END' || fail "$interval: sizes of blocks of 80 bytes are not 80 B: $(cat tags.json)"
import json, sys
sizes = {v["text"] for k in json.load(open("tags.json"))["keys"] if k["key"] == "bytes" for v in k["values"]}
sys.exit(sizes != {"80 B"})
END
	"$cprof" top -tagfocus='bytes=80 B' sizes.pb | grep -q site_ || fail "$interval: a size as it is shown doesn't focus"
done
finish
