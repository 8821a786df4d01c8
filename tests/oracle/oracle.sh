# SPDX-License-Identifier: BSD-3-Clause
# make oracle: the own unwinder against an exact oracle on real programs, and libunwind on the same contexts; see
# oracle.h. ORACLE_STEPS instructions of each (default 500000, about ten seconds; on aarch64, where a step takes a
# tracer, 30000, in windows of ORACLE_WINDOW), ORACLE_SEED for other ones. Status 1:
# a frame was wrong, more than one stack in 10,000 not complete, more than one in 1000 without its root (_start, clone), a
# difference from libunwind has no explanation, or there were fewer than six programs or 10,000 stacks.
set -u

builddir=$PWD
agent=$builddir/tests/oracle/.libs/agent.so
machine=$(${CC:-cc} -dumpmachine)
case $machine in
x86_64*) steps=${ORACLE_STEPS:-500000} all="python thread sqlite compilers cxx rust node generated ffmpeg xz worker redis postgres" ;;
aarch64*)
	steps=${ORACLE_STEPS:-30000} all="python sqlite compilers cxx xz perl bash"
	# libunwind 1.6 knows no signed return addresses, which the agent's function below main has.
	export ORACLE_WINDOW=${ORACLE_WINDOW:-2000} ORACLE_LIBUNWIND=0
	;;
*)
	echo "the oracle does not step $machine"
	exit 0
	;;
esac
work=$(mktemp -d)
programs=0
failed=0
server=
trap '[ -z "$server" ] || kill -9 "$server"; rm -rf "$work"' EXIT

# Prints what came out of a run, and judges it.
judge() { # name
	echo "==> $1"
	cat "$work/$1.report" 2>/dev/null || {
		echo "no report: $(tail -n 3 "$work/$1.err")"
		failed=1
		return
	}
	grep '^oracle' -A 12 "$work/$1.err"
	grep -q '^verdict: good' "$work/$1.report" || failed=1
	programs=$((programs + 1))
}

# One in RATE of the calls that are known is stepped through.
stepped() { # name rate command...
	name=$1
	rate=$2
	shift 2
	command -v "$1" >/dev/null || {
		echo "==> $name: not installed"
		return 1
	}
	ORACLE_OUT=$work/$name.report ORACLE_STEPS=$steps ORACLE_SKIP=$rate LD_PRELOAD=$agent \
		"$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null && return
	echo "==> $name: status $?: $(tail -n 3 "$work/$name.err")"
	failed=1
	return 1
}

python_workload() {
	cat <<'END'
import json, re, hashlib, zlib, random, signal
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class A:
    def __init__(self, x): self.x = x
    def __lt__(self, other): return self.x < other.x
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for i in range(20):
    d = json.loads(json.dumps({str(k): [k, k * 1.5, "x" * k] for k in range(50)}))
    re.sub(r'(a|b)+c', 'z', 'ababc' * 50)
    hashlib.sha256(b'x' * 1000).hexdigest(), zlib.compress(b'abc' * 500)
    sorted([A(random.random()) for _ in range(60)])
    fib(12), pow(3, 2000, 10 ** 50), "%g %s" % (1.5, 2 ** 200)
    try: int('x')
    except ValueError: pass
signal.setitimer(signal.ITIMER_REAL, 0)
END
}

sql_workload() {
	cat <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
	insert into t select i, 'row ' || (i * 7919 % 1000), i * 0.37 from n;
create index tb on t(b);
select count(*), sum(c), max(b) from t where b like 'row 1%';
select x.b, y.c from t x join t y on x.a = y.a + 1 order by x.b desc limit 5;
update t set c = c * 2 where a % 3 = 0;
delete from t where a > 150;
select printf('%.3f', avg(c)) from t;
END
}

c_workload() {
	cat <<'END'
int printf(const char *, ...);
struct s { int a; double b; };
static double f(const struct s *x, int n)
{
	double r = 0;
	for (int i = 0; i < n; i++)
		r += x[i].a * x[i].b;
	return r;
}
int main(int argc, char **argv)
{
	struct s y[10];
	for (int i = 0; i < 10; i++)
		y[i].a = i, y[i].b = argc;
	return printf("%g\n", f(y, 10)) == 0;
}
END
}

cxx_workload() {
	cat <<'END'
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <vector>
static volatile unsigned ticks;
__attribute__((noinline)) static unsigned leaf(unsigned n) { return n * 2654435761u ^ n >> 7; }
__attribute__((noinline)) static unsigned leaf_with_frame(unsigned n)
{
	volatile unsigned room[40];
	for (unsigned i = 0; i < 40; i++) room[i] = n ^ i;
	return room[n % 40];
}
static void on_alarm(int) { ticks = ticks + leaf(ticks); }
struct shape { virtual ~shape() {} virtual double area() const = 0; };
struct square : shape { double a; square(double x) : a(x) {} double area() const override { return a * a; } };
__attribute__((noinline)) static unsigned deep(unsigned n)
{
	if (!n) throw std::runtime_error("bottom");
	return deep(n - 1) + leaf_with_frame(n);
}
__attribute__((noinline)) static unsigned varying(unsigned n)
{
	char *room = (char *)alloca(n % 300 + 16);
	memset(room, (int)n, n % 300 + 16);
	return leaf((unsigned char)room[n % 7]) + leaf_with_frame(n);
}
static int by_leaf(const void *a, const void *b) { return leaf(*(const unsigned *)a) < leaf(*(const unsigned *)b) ? -1 : 1; }
int main()
{
	struct itimerval t = { { 0, 20000 }, { 0, 20000 } };
	unsigned sum = 0, v[50];
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &t, nullptr);
	for (unsigned round = 0; round < 20000; round++) {
		std::map<std::string, double> m;
		for (unsigned i = 0; i < 20; i++) m["k" + std::to_string(leaf(i) % 9)] += square(i).area();
		for (unsigned i = 0; i < 50; i++) v[i] = i * round;
		qsort(v, 50, sizeof(*v), by_leaf);
		std::vector<std::string> s;
		for (unsigned i = 0; i < 20; i++) s.push_back(std::to_string(v[i]));
		std::sort(s.begin(), s.end(), [](const std::string &a, const std::string &b) { return b < a; });
		try { sum += round % 4 ? varying(round) : deep(9); } catch (const std::exception &e) { sum += e.what()[0]; }
		sum += (unsigned)m.size() + s[3][0];
	}
	return printf("%u\n", sum) < 0;
}
END
}

postgres_workload() {
	cat <<'END'
create table t (a int primary key, b text, c double precision);

insert into t select i, md5(i::text), sqrt(i) from generate_series(1, 2000) i;

create index on t (b);

select count(*), sum(c), max(b) from t where b like 'a%';

select x.b, y.c from t x join t y on x.a = y.a + 1 order by x.b desc limit 5;

update t set c = c * 2 where a % 3 = 0;

select jsonb_agg(to_jsonb(t)) from t where a < 50;

select substring(b from '(\w)\d+'), count(*) from t group by 1 order by 2 desc limit 3;

select 1 / 0;

vacuum analyze t;

END
}

rust_workload() {
	cat <<'END'
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Circle(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { 3.14 * self.0 * self.0 } }
fn deep(n: u32) -> u64 { if n == 0 { panic!("bottom") } else { deep(n - 1) + 1 } }
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for round in 0..30 {
        let mut m: HashMap<String, Vec<i64>> = HashMap::new();
        for i in 0..100i64 { m.entry(format!("k{}", i % 17)).or_default().push(i * round); }
        let b: BTreeMap<_, i64> = m.iter().map(|(k, v)| (k.clone(), v.iter().sum())).collect();
        let mut s = String::new();
        for (k, v) in &b { write!(s, "{}={};{:.3} ", k, v, *v as f64 / 3.0).unwrap(); }
        let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle(1.0))];
        let area: f64 = shapes.iter().map(|x| x.area()).sum();
        let mut v: Vec<String> = (0..80).map(|i| format!("{:x}", i * 7919 % 1013)).collect();
        v.sort_by(|a, b| b.cmp(a));
        let caught = round % 10 == 5 && std::panic::catch_unwind(|| deep(20)).is_err();
        let t = std::thread::spawn(move || round * 2).join().unwrap();
        println!("{} {} {:?} {} {}", s.len(), area, v.first(), caught, t);
    }
}
END
}

with_python() {
	python_workload >"$work/w.py"
	stepped python3 100 "$(command -v /usr/bin/python3 || command -v python3)" "$work/w.py" && judge python3
}

with_sqlite() {
	sql_workload >"$work/w.sql"
	stepped sqlite3 10 sqlite3 :memory: ".read $work/w.sql" && judge sqlite3
}

with_compilers() {
	c_workload >"$work/w.c"
	stepped gcc 60 "$(gcc -print-prog-name=cc1)" -quiet -O2 "$work/w.c" -o "$work/w.s" && judge gcc
	stepped clang 100 clang -cc1 -emit-obj -O2 "$work/w.c" -o "$work/w.o" && judge clang
}

# With every function's return address signed, and landing pads, on aarch64.
with_cxx() {
	cxx_workload >"$work/w.cc"
	if [ "${ORACLE_CXX:-}" ]; then # built before, on a faster machine
		cp "$ORACLE_CXX" "$work/cxx"
	else
		protection=
		[[ $machine != aarch64* ]] || protection=-mbranch-protection=standard
		${CXX:-c++} -O2 -fomit-frame-pointer $protection "$work/w.cc" -o "$work/cxx" || return
	fi
	stepped cxx 50 "$work/cxx" && judge cxx
}

with_perl() {
	stepped perl 100 perl -e 'for (1 .. 300) { my %h = map { ("k" . $_ * 7919 % 97, $_) } 1 .. 99;
		$s .= join(",", sort { $h{$a} <=> $h{$b} } keys %h); $s =~ s/(k\d)(\d)/$2$1/g; $s = substr $s, -500 } print length $s' && judge perl
}

with_bash() {
	stepped bash 100 bash -c 'for ((i = 0; i < 20000; i++)); do a[i % 50]=$((i * i)); [[ ${a[i % 7]:-x} == *1?* ]] && s=${s:0:40}${a[*]:0:3}; done; echo ${#s}' && judge bash
}

with_rust() {
	rust_workload >"$work/w.rs"
	rustc -O "$work/w.rs" -o "$work/rust" 2>/dev/null || {
		echo "==> a Rust program: rustc is not installed"
		return
	}
	stepped rust 20 "$work/rust" && judge rust
}

with_node() {
	stepped node 300 node -e 'let a = [];
		for (let i = 0; i < 1e5; i++) a.push({x: i, s: "v" + i % 100});
		a.sort((p, q) => p.s < q.s ? -1 : 1);
		console.log(JSON.stringify(a).length, /(\w+)\d/.exec("abc123"))' && judge node
}

# The second of three threads, while the others run.
with_thread() {
	cat >"$work/t.py" <<'END'
import json, re, hashlib, threading, random
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    for i in range(20):
        json.loads(json.dumps({str(k): [k, k * 1.5, "x" * k] for k in range(50)}))
        re.sub(r'(a|b)+c', 'z', 'ababc' * 50)
        hashlib.sha256(b'x' * 1000).hexdigest()
        sorted(random.random() for _ in range(60))
        fib(10)
t = [threading.Thread(target=work) for _ in range(3)]
[x.start() for x in t]
[x.join() for x in t]
END
	ORACLE_THREAD=2 stepped thread 100 "$(command -v /usr/bin/python3 || command -v python3)" "$work/t.py" &&
		judge thread
}

# A worker that was made with all signals blocked.
with_worker() {
	head -c 300000 "$(command -v bash)" >"$work/w.bin"
	ORACLE_THREAD=1 stepped worker 100 xz -6 -T2 -c "$work/w.bin" && judge worker
}

# Inside the script, where code is generated: from a second of its CPU time on, of several.
with_generated() {
	cat >"$work/w.js" <<'END'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
class P { constructor(x) { this.x = x } area() { return this.x * this.x } }
let s = 0;
for (let k = 0; k < 8000; k++) {
	s += fib(20);
	let a = [];
	for (let i = 0; i < 2000; i++) a.push(new P(i % 37));
	a.sort((p, q) => p.x - q.x);
	s += a.map(p => p.area()).reduce((x, y) => x + y);
	s += JSON.stringify(a).length;
	s += "abcabc".replace(/b/g, () => "x" + s % 3).length;
}
END
	ORACLE_AFTER=1000 stepped generated 50 node "$work/w.js" && judge generated
}

# Hand-written code without call frame information: decoded, scaled and encoded in one thread. Without what is for
# the eye (psy): its function keeps the stack pointer in another register, and stacks end there.
with_ffmpeg() {
	command -v ffmpeg >/dev/null || {
		echo "==> ffmpeg: not installed"
		return
	}
	ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=duration=1:size=320x240:rate=10 -c:v mpeg4 -threads 1 "$work/made.mkv"
	ORACLE_AFTER=200 stepped ffmpeg 100 ffmpeg -nostdin -loglevel error -stream_loop 40 -threads 1 -i "$work/made.mkv" -filter_threads 1 \
		-vf scale=480:360,unsharp -c:v libx264 -preset fast -x264-params threads=1:lookahead-threads=1:sync-lookahead=0:psy=0 -an -f null - &&
		judge ffmpeg
}

with_xz() {
	cat "$srcdir/README.md" "$srcdir"/docs/*.md >"$work/x"
	stepped xz 100 xz -6 -T1 -c "$work/x" && judge xz
}

# Debian's redis-check-rdb is the server by another name.
with_redis() {
	command -v redis-check-rdb >/dev/null && command -v redis-cli >/dev/null || {
		echo "==> redis: not installed"
		return
	}
	ln -s "$(command -v redis-check-rdb)" "$work/redis-server"
	ORACLE_OUT=$work/redis.report ORACLE_STEPS=$steps ORACLE_SKIP=20 LD_PRELOAD=$agent \
		"$work/redis-server" --port 0 --unixsocket "$work/socket" --save '' --dir "$work" \
		>"$work/redis.out" 2>"$work/redis.err" &
	server=$!
	# Until the oracle has written its report, or the server is gone.
	while kill -0 "$server" 2>/dev/null && [ ! -s "$work/redis.report" ]; do
		timeout 20 redis-cli -s "$work/socket" eval \
			'for i = 1, 50 do redis.call("zadd", "z", i * 7 % 50, i); redis.call("set", i, string.rep("x", i)) end
			return redis.call("zrange", "z", 0, -1)' 0 >/dev/null 2>&1 || sleep 0.2
		timeout 20 redis-cli -s "$work/socket" info all >/dev/null 2>&1
	done
	kill -9 "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
	judge redis
}

# It refuses to run as root.
as_nobody() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# A backend without a server: one process, which reads SQL from its input.
with_postgres() {
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
	{ [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && command -v setpriv >/dev/null; } || {
		echo "==> postgres: not installed"
		return
	}
	mkdir "$work/postgres"
	cp "$agent" "$work/postgres/agent.so"
	chmod 711 "$work"
	[ "$(id -u)" != 0 ] || chown 65534 "$work/postgres"
	(
		cd "$work/postgres" || exit
		as_nobody "$bin/initdb" -D data -U tester --no-sync -E UTF8 --locale=C.UTF-8 >initdb.out 2>&1 || {
			cat initdb.out
			exit 1
		}
		# Its own statements end with an empty line, so that each is one.
		postgres_workload | as_nobody env ORACLE_OUT="$PWD/report" ORACLE_STEPS="$steps" ORACLE_SKIP=100 \
			LD_PRELOAD="$PWD/agent.so" "$bin/postgres" --single -j -F -D data postgres >out 2>err
		cp err "$work/postgres.err"
		[ ! -s report ] || cp report "$work/postgres.report"
	)
	judge postgres
}

for one in ${*:-$all}; do
	"with_$one"
done
stacks=$(cat "$work"/*.report | awk '$1 == "own" && $3 == "stacks" { n += $2 } END { print n + 0 }')
echo "==> $stacks stacks of $programs programs"
[ $# -gt 0 ] && exit $failed
[ "$programs" -ge 6 ] && [ "$stacks" -ge 10000 ] || {
	echo "too few: six programs and 10,000 stacks are needed"
	exit 1
}
exit $failed
