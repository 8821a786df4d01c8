# SPDX-License-Identifier: BSD-3-Clause
# cprof dump: all files of a dump are of one moment. What was waited for locks is what their holders have caused, in each
# of twenty dumps, beside busy loops; the files of -last begin and end at the same time.
. "$srcdir/tests/lib/lock.sh"
need "$cprof"
cd "$work"
cat >contend.c <<'END'
#include <pthread.h>
static pthread_mutex_t locks[4] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				    PTHREAD_MUTEX_INITIALIZER };
static void *contend(void *arg)
{
	for (unsigned i = (unsigned)(long)arg;; i++) {
		pthread_mutex_lock(&locks[i % 4]);
		for (volatile int k = 0; k < 20000; k++)
			;
		pthread_mutex_unlock(&locks[i % 4]);
	}
	return 0;
}
int main(void)
{
	pthread_t t;
	for (long i = 0; i < 6; i++)
		pthread_create(&t, 0, contend, (void *)i);
	pthread_join(t, 0);
}
END
$CC -O1 -g -pthread -o contend contend.c || fail "contend.c doesn't compile"
for i in 1 2; do
	(while :; do :; done) &
	owns $!
done
env LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/lock.pb" CPUPROFILE="$work/cpu.pb" WALLPROFILE="$work/wall.pb" ./contend &
pid=$!
owns $pid
waits() {
	"$cprof" ps $pid 2>/dev/null | grep -q lock
}
wait_for 60 waits || fail "no control socket"

# The time index's field NUMBER of a file.
field() { # file number
	gzip -dc "$1" | python3 -c '
import sys
def number(b, i):
    v = s = 0
    while True:
        v |= (b[i] & 127) << s
        s += 7
        i += 1
        if b[i - 1] < 128:
            return v, i
def fields(b):
    i = 0
    while i < len(b):
        key, i = number(b, i)
        if key & 7 == 2:
            n, i = number(b, i)
            yield key >> 3, b[i:i + n]
            i += n
        elif key & 7 == 0:
            v, i = number(b, i)
            yield key >> 3, v
        else:
            i += 8
print(*[v for f, b in fields(sys.stdin.buffer.read()) if f == 7361 for g, v in fields(b) if g == int(sys.argv[1])][:1])
' "$2"
}

for n in 0001 0002 0003 0004 0005 0006 0007 0008 0009 0010 0011 0012 0013 0014 0015 0016 0017 0018 0019 0020; do
	"$cprof" dump $pid >/dev/null || fail "dump $n fails"
	waited=$(lock_values $pid.lock.$n.pb .)
	caused=$(lock_values $pid.lock.$n.holders.pb .)
	later=$("$pprof_check" --comments $pid.lock.$n.holders.pb | sed -n 's/^holders: \(.*\) waits, \(.*\) ns, come later.*/\1 \2/p')
	echo "$waited $caused ${later:-0 0}" | awk '{ exit !($2 > 0 && $1 == $3 + $5 && $2 == $4 + $6) }' ||
		fail "dump $n: waited $waited, caused $caused, to come $later"
done
rm $pid.*
"$cprof" dump -last=500ms $pid >/dev/null || fail "dump -last fails"
for number in 2 15; do
	for file in $pid.*.pb; do
		field "$file" $number
	done >moments
	[ -s moments ] && [ "$(sort -u moments | wc -l)" = 1 ] || fail "field $number of the files of -last: $(cat moments)"
done
finish
