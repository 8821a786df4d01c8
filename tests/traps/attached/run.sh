# SPDX-License-Identifier: BSD-3-Clause
# Trap: a library that comes into a running program sees only a part of what a preloaded one sees, or leaves something
# behind: as much is seen by the import tables, of threads that were there as of others, of modules that are loaded
# later, and after a second attach; after a detach the tables are as before.
. "$srcdir/tests/lib/control.sh"
. "$srcdir/tests/lib/heap.sh"
. "$srcdir/tests/lib/lock.sh"
. "$srcdir/tests/lib/io.sh"
sources=$(realpath "$srcdir/tests/traps/attached") top=$(realpath "$srcdir")
plugin=$sources/plugin.c
cd "$work"
plugins='-Wl,-z,lazy -Wl,-z,now -Wl,-z,lazy,-Bsymbolic'
for flags in $plugins; do
	$CC -O2 -fno-builtin -fPIC -shared $flags -o "plugin$flags.so" "$plugin" || skip "no compiler"
done

program() { # name settings...
	hosted=$1
	shift
	mkfifo "$hosted.in"
	env "$@" "$builddir/tests/traps/attached/host" <"$hosted.in" >"$hosted.out" 2>"$hosted.err" &
	pid=$!
	owns $pid
	exec {told}>"$hosted.in"
	wait_for 60 grep -q '^up' "$hosted.out" || fail "$hosted doesn't come up"
	tell lazy ./plugin-Wl,-z,lazy,-Bsymbolic.so
}

not_there() {
	[ "$(ls "/proc/$pid/task" 2>/dev/null | wc -l)" -le 1 ]
}

# Has the program work once in all modes.
profile_work() { # name
	cprof start-$1 start -heap=1 -lock=0 -io -cpu=1000 -o "$1.pb" $pid
	check_status start-$1 0
	tell work
	for flags in $plugins; do
		tell plugin "./plugin$flags.so"
	done
	cprof stop-$1 stop $pid
	check_status stop-$1 0
	for mode in heap lock io; do
		check_valid_as $mode "$1.$mode.pb"
	done
	check_valid "$1.cpu.pb"
}

# The program's counts, without what depends on the clock.
counts() { # name
	for function in heap_work table_work plugin_work; do
		echo "$function $(heap_values "$1.heap.pb" "(^|;)$function(;|\$)")"
	done
	for function in lock_work; do
		echo "$function $(lock_values "$1.lock.pb" "pthread_mutex_lock;(.*;)?$function(;|\$)" | cut -d' ' -f1)"
	done
	"$pprof_check" --raw "$1.io.pb" | awk -F '\t' '
		$3 ~ /io_work/ { split($1, v, ","); for (i = 1; i <= 3; i++) s[i] += v[i] }
		END { print "io_work", s[1], s[3] }'
}

as_preloaded() { # name
	counts "$1" >"$1.counts"
	cmp -s preloaded.counts "$1.counts" || fail "$1: $(diff preloaded.counts "$1.counts")"
	for thread in early_thread late_thread main; do
		check_stack "$1.heap.pb" "heap_work;.*$thread"
		check_stack "$1.io.pb" "io_work;.*$thread"
	done
	check_stack "$1.heap.pb" 'strdup;heap_work'
	check_stack "$1.lock.holders.pb" hold_work
	check_stack "$1.cpu.pb" 'burn[^;]*;early_thread'
}

program preloaded LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on
wait_for 60 has_socket $pid || fail "no control socket"
profile_work preloaded
counts preloaded >preloaded.counts
end_host
check_status preloaded 0
as_preloaded preloaded

# The loader has bound all of the program's calls, or none of those that it has not made.
for bind in now lazy; do
	if [ $bind = now ]; then program $bind LD_BIND_NOW=1; else program $bind HOW=lazy; fi
	for turn in first second; do
		tell attach "$CP_LIBRARY"
		lists $pid - || fail "$bind $turn: $("$cprof" ps)"
		tell malloc
		[ "$answer" = 'malloc of libcprof' ] || fail "$bind $turn: attached: $answer"
		profile_work $bind-$turn
		as_preloaded $bind-$turn
		check_comment $bind-$turn.heap.pb 'attached to a running program'
		tell attach "$CP_LIBRARY"
		[ "$answer" = 'libcprof is at work in the process already' ] || fail "$bind $turn: again: $answer"
		tell detach
		tell malloc
		[ "$answer" = 'malloc of another' ] || fail "$bind $turn: detached: $answer"
		tell work
	done
	# A mode that is on ends with its file.
	tell attach "$CP_LIBRARY"
	cprof on-$bind start -heap=1 -o "on-$bind.pb" $pid
	check_status on-$bind 0
	tell work
	tell detach
	check_valid_as heap "on-$bind.pb"
	tell times "20:$CP_LIBRARY"
	# A mode that is on at the end of the program.
	tell attach "$CP_LIBRARY"
	cprof last-$bind start -heap=1 -o "last-$bind.pb" $pid
	check_status last-$bind 0
	tell work
	end_host
	check_status $bind 0
	check_valid_as heap "last-$bind.pb"
	check_stack "last-$bind.pb" 'heap_work;.*early_thread'
	[ ! -s "$bind.err" ] || harm "$bind says: $(cat "$bind.err")"
done

# A fork that had begun before the library came into use is not ended twice: who walks the modules would wait for it.
program forks
tell fork "$CP_LIBRARY"
end_host
check_status forks 0

# A program whose main thread has ended goes on until its last thread ends.
program gone
echo "leave $CP_LIBRARY" >&$told
wait_for 60 not_there || harm "gone: goes on"
reap $pid
check_status gone 0

# A program with an allocator of its own keeps it, also where the loader has not bound a call yet.
$CC -O2 -fno-builtin -fPIC -shared -Wl,-z,lazy -o libown.so "$sources/own-lib.c" &&
	$CC -O2 -fno-builtin -rdynamic -D_GNU_SOURCE -iquote "$top/lib" -iquote "$top/tests/lib" -Wl,-z,lazy -o own "$sources/own.c" \
		-L. -lown -Wl,-rpath,"$work" -pthread || fail "own: not built"
ends_well bare own ./own "$CP_LIBRARY"
[ "$(cat own.out)" = 'its own' ] || harm "own: $(cat own.out)"
finish
