# SPDX-License-Identifier: BSD-3-Clause
# cprof push of files: each receiver's messages, credentials, limits; what a receiver refuses, delays or loses; the spool.
. "$srcdir/tests/lib/push.sh"
cd "$work"

CPROF_LABELS=tenant=t1 CPUPROFILE_FREQUENCY=1000 ends_well profiled app "$builddir/tests/traps/hosts/cpu-host" periodic 0.3
[ -s app.pb ] || fail "no profile"
samples=$("$cprof" info app.pb | sed -n 's,^  samples/count total ,,p')
receiver first

# ---- messages and labels ----
for to in pyroscope ingest parca datadog otlp; do
	push $to -to=$to "$url/" app.pb
	ended $to 0
	says $to '1 profiles .* sent to http'
done
got '^wrong' 0
got '^200 /push.v1.PusherService/Push process_cpu samples=.* types=samples:count,cpu:nanoseconds period=cpu:nanoseconds .*service_name=cpu-host'
got '^200 /ingest ingest .*service_name=cpu-host'
got '^200 /api/profiles/writeraw process_cpu .*service_name=cpu-host'
got '^200 /profiling/v1/input process_cpu.pprof .*types=cpu-samples:count,cpu-time:nanoseconds .*service=cpu-host'
got '^200 /v1development/profiles otlp .*types=cpu:nanoseconds,samples:count .*process_pid=[0-9]+ .*service_name=cpu-host'
# Labels of samples stay here unless they are named.
got 'keys= ' 5
[ "$(total samples "$received/0.pb")" = "$samples" ] || fail "samples are lost on the way"
cmp -s "$received/1.pb" "$received/0.pb" || fail "two protocols send two profiles"

OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES='service.version=1%2E2,k8s.pod.name=p-1' NODE_NAME=n1 \
	push labels "$url" -keys='tenant,thr*' -label zone=b -label pid= app.pb
ended labels 0
got 'keys=tenant,thread host=[^ ]* node=n1 pod=p-1 service_name=shop service_version=1.2 zone=b$'
push named "$url/push.v1.PusherService/Push" -name=other app.pb
got 'service_name=other'

# ---- heap and lock profiles begin with the program's functions, as in pprof: receivers apply no drop_frames ----
$CXX -O2 -g -pthread -o first-rows "$srcdir/tests/e2e/pprof-first-rows-host.cc" || fail "the host doesn't compile"
env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE=heap.pb CPROF_HEAP_INTERVAL=1 ./first-rows heap || fail "first-rows heap: $?"
env LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE=lock.pb CPROF_LOCK_THRESHOLD=0 ./first-rows lock || fail "first-rows lock: $?"
all=0
rm -f "$received"/*.pb "$received"/*.otlp
for to in pyroscope parca datadog otlp; do
	push frames-$to -to=$to "$url/" heap.pb lock.pb
	ended frames-$to 0
	push all-frames-$to -to=$to "$url/" -all-frames heap.pb lock.pb
	ended all-frames-$to 0
done
for file in "$received"/*.pb "$received"/*.otlp; do
	case $file in
	*.pb) "$cprof" folded "$file" >stacks ;;
	*) python3 "$srcdir/tests/lib/otlp_stacks.py" "$file" >stacks ;;
	esac
	grep -qE 'keep_block|update' stacks || fail "$file: no function of the program: $(head -n 3 stacks)"
	! grep -qE ';(operator new(\[\])?|pthread_mutex_lock) ' stacks || all=$((all + 1))
done
# Two series of the heap and one of the lock in half of the pushes.
[ $all = 12 ] || fail "$all profiles have operator new or pthread_mutex_lock"

# ---- credentials never from the command line ----
push in-url http://me:secret@127.0.0.1/ app.pb
ended in-url 2
says in-url 'can be seen by every user'
echo me:secret >user
push basic "$url" -user-file=user app.pb
grep -qi "^authorization: basic $(printf me:secret | base64)" "$received/headers" || fail "basic: $(cat "$received/headers")"
CPROF_PUSH_TOKEN=abc CPROF_PUSH_TENANT=team push token "$url" app.pb
grep -qi '^authorization: bearer abc' "$received/headers" || fail "token: $(cat "$received/headers")"
grep -qi '^x-scope-orgid: team' "$received/headers" || fail "tenant: $(cat "$received/headers")"
push no-file "$url" -token-file=missing -spool=none -flush=0.1s app.pb
ended no-file 2
says no-file 'missing can.t be read'

# ---- limits: what is too big comes in parts, and nothing is lost ----
: >"$received/log"
rm -f "$received"/*.pb
answer 200 samples=3
push parts "$url" app.pb
ended parts 0
takes_all
[ "$(logged ' samples=[123] ')" -gt 1 ] || fail "parts: $(cat "$received/log")"
[ "$(total samples "$received"/*.pb)" = "$samples" ] || fail "parts don't add up to $samples"

# ---- what can't be sent now ----
waits() { # name answer...
	: >"$received/log"
	answer "${@:2}"
	"$cprof" push "$url" -spool="$work/$1-spool" -flush=20s app.pb >"$1.said" 2>&1 &
	pushing=$!
	owns $pushing
	wait_for 60 has_got "^$2" || fail "$1: no request"
	wait_for 60 grep -q 'sent later' "$1.said" || fail "$1 says nothing: $(cat "$1.said")"
	takes_all
	reap $pushing
	ended "$1" 0
	got '^200'
	[ -z "$(find "$work/$1-spool" -name '*.item')" ] || fail "$1: it is still in the spool"
}
waits busy 503
waits patience 429 1
waits reset reset
answer 401
push unauthorized "$url" -spool="$work/held" app.pb
ended unauthorized 0
says unauthorized 'HTTP 401.*-user-file or -token-file'
says unauthorized '1 are kept in the spool'
answer 400
push refused "$url" app.pb
ended refused 2
says refused 'HTTP 400: .*as the test says.*dropped'
says refused '1 profile was lost: the receiver refused'
answer slow
push slow "$url" -flush=0.2s -spool="$work/slow-spool" app.pb
ended slow 0
says slow '1 are kept in the spool'
takes_all

# ---- the spool: kept by a push that ends or is killed, sent by the next one ----
items() { # spool
	find "$1" -name '*.item' 2>/dev/null | wc -l
}
answer 503
push down "$url" -spool="$work/spool" -flush=0.1s app.pb app.pb
ended down 0
says down '2 are kept in the spool'
[ "$(items spool)" = 2 ] || fail "spool: $(find spool)"
"$cprof" push "$url" -spool="$work/spool" -flush=60s app.pb >killed.said 2>&1 &
pushing=$!
owns $pushing
three() {
	[ "$(items spool)" = 3 ]
}
wait_for 60 three || fail "killed: $(cat killed.said)"
kill -9 $pushing
wait $pushing 2>/dev/null
takes_all
: >"$received/log"
push again "$url" -spool="$work/spool" app.pb
ended again 0
# The killed one may have had a request under way.
[ "$(logged '^200')" -ge 4 ] || fail "again: $(cat "$received/log")"
[ "$(items spool)" = 0 ] || fail "the spool is not empty: $(find spool)"

answer 503
push bounded "$url" -spool="$work/bounded" -spool-size="$(($(stat -c %s app.pb) * 2))" -flush=0.1s app.pb app.pb app.pb app.pb
ended bounded 2
says bounded '[123] profiles? w(as|ere) lost: too many were waiting'
push old "$url" -spool="$work/old" -flush=1.5s -spool-age=1s app.pb
ended old 2
says old '1 profile was lost: they had waited too long'
# Others may write to it: they could put profiles there.
mkdir -p open
push make "$url" -spool="$work/open" -flush=0.1s app.pb
chmod 777 open/*
push everybody "$url" -spool="$work/open" -flush=0.1s app.pb
ended everybody 2
says everybody 'others may write to it'
(
	ulimit -f 0
	timeout 60 "$cprof" push "$url" -spool="$work/full" -flush=0.1s app.pb 2>&1
	echo "status $?"
) | cat >full.said
says full 'File too large; they are kept in memory'
says full '1 profile was lost: they could neither be sent nor kept'
says full 'status 2'
push none "$url" -spool=none -flush=0.1s app.pb
ended none 2
takes_all

# ---- a directory, bounded ----
push directory "dir:$work/windows" app.pb
ended directory 0
check_valid windows/*.pb
check_comment windows/*.pb 'mode cpu'
head -c 200000 /dev/zero >windows/20200101T000000.000Z.old.1.cpu.window.pb
touch windows/other.pb
push bounded-directory "dir:$work/windows" -spool-size=150K app.pb
ended bounded-directory 0
[ "$(ls windows | grep -c 'window.pb$')" -ge 1 ] && [ -e windows/other.pb ] && ! ls windows | grep -q '^2020' ||
	fail "the directory is not bounded: $(ls -l windows)"

# ---- TLS: certificates are checked, by an authority of one's own too ----
request() { # name subject
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "/CN=$2" "${@:3}" 2>>openssl.err
}
sign() { # by name extension
	openssl x509 -req -CA "$1.pem" -CAkey "$1.key" -CAcreateserial -days 2 -extfile <(echo "$3") -out "$2.pem" 2>>openssl.err
}
if command -v openssl >/dev/null; then
	mkdir secure
	request root root -x509 -days 2 -out root.pem
	request between between | sign root between basicConstraints=critical,CA:TRUE
	request server localhost | sign between server subjectAltName=DNS:localhost
	cat server.key server.pem between.pem >secure/tls.pem
	receiver secure
	secure=https://localhost:${url##*:}
	distrusts() { # name arguments...
		"$cprof" push "${@:2}" -spool=none -flush=60s app.pb >"$1.said" 2>&1 &
		pushing=$!
		owns $pushing
		wait_for 60 grep -q 'certificate.*sent later' "$1.said" || fail "$1 says nothing: $(cat "$1.said")"
		kill -9 $pushing
		wait $pushing 2>/dev/null
	}
	distrusts unknown-authority "$secure"
	distrusts other-name "https://127.0.0.1:${url##*:}" -ca-file=root.pem
	got '.' 0
	push authority "$secure" -ca-file=root.pem app.pb
	ended authority 0
	got '^200 /push.v1.PusherService/Push process_cpu '
	receiver first
fi

# ---- mistakes ----
push no-target
ended no-target 2
push what ftp://x app.pb
ended what 2
says what 'is no target'
push to "$url" -to=syslog app.pb
ended to 2
says to 'is no protocol'
push label "$url" -label=1x=y app.pb
ended label 2
push nobody "$url" 0x1
ended nobody 2
finish
