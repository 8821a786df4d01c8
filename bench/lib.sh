# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts of bench/: turns measurements into records, besides the text that is printed. A record is a
# line of $BENCH_RECORDS: what, unit, median, quartiles, number of values, tags (tab-separated; tags are "key=value
# key=value", without blanks in a value). report.py makes tables, JSON and docs/overhead.md of them.
export LC_ALL=C
: "${BENCH_RECORDS:=/dev/null}"

# The values are lines on stdin; none, or what isn't a number, is no record.
record() { # what unit key=value...
	record_what=$1 record_unit=$2
	shift 2
	grep -E '^[-+]?[0-9.]+(e[-+]?[0-9]+)?$' | sort -g | awk -v what="$record_what" -v unit="$record_unit" -v tags="$*" '
		{ v[NR] = $1 }
		END {
			if (NR)
				printf "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", what, unit, v[int((NR + 1) / 2)],
					v[int((NR + 3) / 4)], v[int((3 * NR + 3) / 4)], NR, tags
		}' >>"$BENCH_RECORDS"
}

# Prints the record's line as text, for the terminal.
say_record() { # what unit key=value...
	say_values=$(grep -E '^[-+]?[0-9.]+(e[-+]?[0-9]+)?$')
	record "$@" <<<"$say_values"
	printf '%-40s %-10s %s\n' "$1 ${*:3}" "$2" "$(sort -g <<<"$say_values" | awk '{ v[NR] = $1 } END {
		if ($0 != "") printf "%.6g (%.6g to %.6g, %d)", v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 3) / 4)], NR; else print "-" }')"
}

has() { command -v "$1" >/dev/null; }

# The first library of that name that is installed, or nothing.
find_library() { # name...
	for found_name; do
		for found in /usr/lib/*/"$found_name" /usr/local/lib/"$found_name"; do
			[ -e "$found" ] && { echo "$found"; return; }
		done
	done
}

# ---- what compilers and interpreters are given ----
c_source() { # functions
	for i in $(seq 1 "$1"); do
		echo "int f$i(int *a, int n) { int s = $i; for (int i = 0; i < n; i++) {
			if (a[i] % $((i + 1)) == 0) s += a[i] * $i; else s ^= a[n - i - 1] << $((i % 13));
			switch (s & 7) { case 0: s++; break; case 3: a[i] = s; break; case 5: s -= n; } }
			return s; }"
	done
}

python_script() { # texts to make
	cat <<PY
import json
found = []
for i in range(2, 14000):
    if all(i % p for p in found if p * p <= i):
        found.append(i)
print(len(found), sum(len(json.dumps({"a": [i] * 5})) for i in range($1)))
PY
}
