# SPDX-License-Identifier: BSD-3-Clause
# Labels that a program sets on its threads: in the file, by pprof's tagfocus, inherited, kept out.
. "$srcdir/tests/lib/programs.sh"
need go
host=./tests/e2e/labels-host

# Nanoseconds of CPU time in samples with this label.
with() { # file tag
	go tool pprof -tagfocus="$2" -nodefraction=0 -top -unit=ns "$work/$1.pb" 2>/dev/null |
		sed -n 's/^Showing nodes accounting for \([0-9.]*\)ns.*/\1/p'
}

CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=1000 profiles_well profiled all "$host" 1.6
go tool pprof -tags "$work/all.pb" >"$work/tags" 2>/dev/null
for tag in route: /cheap /dear tenant: acme email: someone@example.org; do
	grep -q -- "$tag" "$work/tags" || fail "no $tag among the tags: $(cat "$work/tags")"
done
# The maker itself has that label, and may be met by a tick while it makes threads or joins them.
go tool pprof -tagfocus=tenant=other -nodefraction=0 -top "$work/all.pb" >"$work/others" 2>/dev/null
grep -q inheriting "$work/others" && fail "a thread inherited what its maker set later: $(cat "$work/others")"

# Shares: 0.25 : 0.75 of 1.6 s, and 0.8 s in the other thread.
cheap=$(with all /cheap) dear=$(with all /dear) acme=$(with all acme)
awk -v c="$cheap" -v d="$dear" -v a="$acme" -v weights="$(weights "$work/all.pb")" "$awk_root"'
	function is_near(got, wanted, by) { return got > wanted - by && got < wanted + by }
	BEGIN {
		split(weights, w, " ")
		# Two thirds of all samples are those of the two routes.
		off = 4.5 * root(0.25 * 0.75 * w[2] * 2 / 3)
		printf "cheap %d ns, dear %d ns, acme %d ns, give or take %d\n", c, d, a, off
		exit !(is_near(c, 0.4e9, off) && is_near(d, 1.2e9, off) && is_near(a, 0.8e9, 0.08e9))
	}' ||
	fail "shares by label: $cheap, $dear, $acme ns; expected about 0.4e9, 1.2e9, 0.8e9"

# Whoever runs the program says what may be in files.
CPROF_LABEL_KEYS='rou*' profiled keys "$host" 0.5
check_valid "$work/keys.pb"
go tool pprof -tags "$work/keys.pb" >"$work/tags" 2>/dev/null
grep -q route: "$work/tags" || fail "route was left out"
grep -q 'email:\|tenant:' "$work/tags" && fail "a label was kept that CPROF_LABEL_KEYS leaves out"

# A label of the thread takes precedence over one of CPROF_LABELS.
CPROF_LABELS=route=none,zone=z1 profiled both "$host" 0.5
check_valid "$work/both.pb"
go tool pprof -tags "$work/both.pb" >"$work/tags" 2>/dev/null
for tag in /cheap /dear none z1; do
	grep -q -- "$tag" "$work/tags" || fail "CPROF_LABELS: no $tag among the tags"
done
finish
