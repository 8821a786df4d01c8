# SPDX-License-Identifier: BSD-3-Clause
# Every command of docs/commands.md, of cprof(1)'s EXAMPLES and of README.md's "console" blocks, run as written there,
# and what it left looked at. documents.sh runs the "sh" blocks.
# The directory has what they name: ./app and its source, profiles, a Makefile, a script, debug files in DIR;
# PID is an ./app that runs. A command that no check is written for below is a failure.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
need go make perl pkg-config python3
source=$(cd "$srcdir" && pwd)
limit=$bounded

# As if it were installed.
mkdir "$work/bin" "$work/pc" && ln -s "$builddir/cprof" "$work/bin/cprof"
PATH=$work/bin:$PATH LD_LIBRARY_PATH=$(dirname "$CP_LIBRARY") LIBRARY_PATH=$LD_LIBRARY_PATH C_INCLUDE_PATH=$source/include
PKG_CONFIG_PATH=$work/pc CPROF_SYMBOLIZE=names
export PATH LD_LIBRARY_PATH LIBRARY_PATH C_INCLUDE_PATH PKG_CONFIG_PATH CPROF_SYMBOLIZE
unset MAKEFLAGS MAKELEVEL MFLAGS
sed -e "s,^libdir=.*,libdir=$LD_LIBRARY_PATH," -e "s,^includedir=.*,includedir=$source/include," \
	-e 's,/libcprof$,/.,' "$builddir/libcprof.pc" >"$work/pc/libcprof.pc"
# Brendan Gregg's, which is no package: reads stacks as it does.
cat >"$work/bin/flamegraph.pl" <<'END'
#!/bin/sh
awk '!/^[^ ].* [0-9]+$/ { exit 1 } { n++ } END { exit !n; }' && echo '<svg>'
END
chmod +x "$work/bin/flamegraph.pl"

mkdir "$work/there" && cd "$work/there" || exit 1
cat >app.c <<'END'
#include <cprof.h>
#include <gperftools/profiler.h>
static volatile unsigned long turns;
int main(void)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	o.cpu_path = "linked.pb";
	if (cprof_start(&o) != 0)
		return 1;
	while (turns < 100000000)
		turns++;
	return cprof_stop() != 0 || !ProfilerStart("gperftools.pb") || (ProfilerStop(), 0);
}
END
# ccache runs no compiler to profile where it knows the result.
CC=${CC#*ccache }
$CC -O1 -g -pthread "$source/tests/e2e/commands-app.c" -o app || fail "./app does not build"
id=$($READELF -n app | awk '/Build ID/ { print $3 }')
mkdir -p "DIR/.build-id/${id:0:2}"
objcopy --only-keep-debug app "DIR/.build-id/${id:0:2}/${id:2}.debug" &&
	strip -o app.stripped app
printf 'all: one.o two.o\none.o two.o: app.c\n\t%s -I%s/include -I%s/include/gperftools -c -o $@ app.c\n' \
	"$CC" "$source" "$source" >Makefile
echo 'my %h; $h{$_ % 5000} .= chr(65 + $_ % 26) for 1 .. 600000; print scalar(keys %h), "\n"' >demo.pl
echo 'print(sum(len(str(i)) for i in range(300000)))' >script.py
# The two profiles must differ: a function with the same time in both isn't shown.
for name in out a b old new a1 a2 a3 b1 b2 b3 out.0001 out.0002 out.pb; do
	case $name in b | new | out.0002) length=longer ;; *) length= ;; esac
	LD_PRELOAD=libcprof.so CPUPROFILE="$name.pb" CPROF_SYMBOLIZE=full CPUPROFILE_FREQUENCY=400 ./app $length
done
mv out.pb.pb out.pb.17
LD_PRELOAD=libcprof.so HEAPPROFILE=heap.pb CPROF_HEAP_INTERVAL=1 ./app

python3 "$source/tests/lib/http-file.py" "$work/port" heap.pb &
owns $!
disown $!
wait_for 20 test -s "$work/port"
port=$(cat "$work/port")

# Commands, one a line: of indented blocks; where a block shows "$ command" and its output, those.
commands_of_page() {
	awk '/^    / { line = substr($0, 5)
		if (line ~ /^\$ /) { shown = 1; line = substr(line, 3) } else if (shown) next
		sub(/ +# .*/, "", line); print line; next }
		{ shown = 0 }' "$source/docs/commands.md"
}
commands_of_readme() {
	awk '/^```/ { on = $0 == "```console"; next } on { sub(/ +# .*/, ""); print }' "$source/README.md"
}
commands_of_man() {
	awk '/^\.SH/ { on = /EXAMPLES/ } on && !/^\./' "$source/man/cprof.1" | sed 's/\\-/-/g'
}

# An ./app that runs, with the settings that a command for it is about.
begin_app() { # settings...
	rm -f out.pb*
	env LD_PRELOAD=libcprof.so CPUPROFILE=out.pb "$@" ./app forever &
	pid=$!
	owns $pid
	# It has used CPU time, so it is beyond its start, and there is something to write.
	wait_for 20 sh -c "[ \$(cut -d' ' -f14 /proc/$pid/stat) -gt 10 ]" || fail "./app doesn't run"
}

end_app() {
	kill "$pid"
	wait "$pid" 2>/dev/null
}

run() { # command
	status=0
	$limit bash -eu -o pipefail -c "$1" </dev/null >said 2>&1 || status=$?
	[ $status = 0 ] || fail "status $status: $1: $(tail -n 5 said)"
}

said() { # regex...
	for regex; do
		grep -qE -- "$regex" said || fail "$command: no $regex in $(head -n 20 said)"
	done
}

holds() { # file regex
	zcat -f "$1" | grep -qE -- "$2" || fail "$command: no $2 in $1"
}

profile_of() { # mode file function...
	check_valid_as "$1" "$2"
	for f in "${@:3}"; do
		"$pprof_check" --raw "$2" | grep -q "$f" || fail "$command: $f is not in $2"
	done
}

check_command() {
	case $command in
	# Commands that are run elsewhere: in the continuous integration each time, in installed.sh.
	./bootstrap*) run "sh '$source/bootstrap' help"; said "^  ${command#./bootstrap } " ;;
	'make -C build install'*) run "make -n -C '$builddir' install" ; said 'libcprof' ;;
	'export PATH='*)
		mkdir checkout && ln -s "$builddir" checkout/build
		run "cd checkout && $command && type -P cprof && cprof run -- true"
		said 'checkout/build/cprof$'
		[ -s checkout/true.cpu.pb ] || fail "$command: cprof run leaves no profile"
		;;
	*'./app' | *'-- ./app'*)
		rm -f out.pb app*.pb cpu.pb
		run "$command"
		case $command in
		*heap*) profile_of heap app.heap.pb malloc_copy; profile_of lock app.lock.pb; profile_of wall app.wall.pb ;;
		*run*) said parse ;;
		*) profile_of cpu out.pb parse ;;
		esac ;;
	*CPROF_ONLY=cc1*)
		rm -f one.o two.o out.*
		# Of the compilers it is gcc that has such a program.
		case $("${CC%% *}" --version) in
		*clang*) echo "$command: not for clang" && return ;;
		esac
		# A short compilation may end before its first sample at 99 Hz; beside load the tick may not come at all.
		CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=1000 run "$command"
		check_valid out.[0-9]*.pb ;;
	*make*)
		rm -f one.o two.o out.pb*
		run "$command"
		profile_of cpu out.pb
		ls out.pb.[0-9]* >/dev/null || fail "$command: no profile of a child" ;;
	'kill -USR2 PID')
		begin_app
		run "${command/PID/$pid}"
		wait_for 20 test -s out.0001.pb || fail "$command: no out.0001.pb"
		profile_of cpu out.0001.pb
		end_app ;;
	'kill -USR1 PID')
		begin_app CPUPROFILESIGNAL=USR1
		for n in 0 1; do
			run "${command/PID/$pid}"
			before=$(cut -d' ' -f14 "/proc/$pid/stat")
			wait_for 20 sh -c "[ \$(cut -d' ' -f14 /proc/$pid/stat) -gt $((before + 20)) ]"
			run "${command/PID/$pid}"
			wait_for 20 test -s out.pb.$n || fail "$command: no out.pb.$n"
			profile_of cpu out.pb.$n
		done
		end_app ;;
	'cprof ps')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command doesn't list the program"
		run "$command"
		said "^ *$pid cpu .* app"
		end_app ;;
	'cprof record -for=2s PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		run "${command/PID/$pid}"
		profile_of cpu $pid.cpu.pb
		end_app ;;
	'cprof live PID')
		# A terminal is needed; tests/e2e/live.sh has one.
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		bash -c "${command/PID/$pid}" </dev/null >said 2>&1 && fail "$command: without a terminal"
		said 'needs a terminal'
		end_app ;;
	'cprof threads PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		run "${command/PID/$pid}"
		said "of process $pid, in"
		end_app ;;
	'cprof start -wall -for=30s PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		run "${command/PID/$pid}"
		said "goes to .*/app\.$pid\.wall\.pb"
		end_app
		check_valid_as wall app.*.wall.pb ;;
	'cprof stop PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		run "${command/PID/$pid}"
		said "is in .*/out\.pb"
		profile_of cpu out.pb
		end_app ;;
	'cprof set -cpu=1000 PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		run "${command/PID/$pid}"
		said "process $pid: CPUPROFILE_FREQUENCY=1000, before: 99"
		end_app
		profile_of cpu out.pb ;;
	'cprof set -heap-budget=1% PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		cprof start -heap $pid >said.start 2>&1 || fail "$command: $(cat said.start)"
		run "${command/PID/$pid}"
		said "process $pid: CPROF_HEAP_BUDGET=1%, before: 0"
		end_app ;;
	'cprof dump PID')
		begin_app
		wait_for 60 sh -c "cprof ps | grep -q '^ *$pid cpu '" || fail "$command: no control socket"
		run "${command/PID/$pid}"
		said "$pid\\.cpu\\.0001\\.pb"
		profile_of cpu $pid.cpu.0001.pb
		end_app ;;
	'cc app.c'*)
		rm -f a.out linked.pb gperftools.pb
		# -lcprof is enough for cprof.h; gperftools' functions are in the same library.
		run "$command -w && ./a.out"
		profile_of cpu linked.pb main
		check_valid gperftools.pb ;;
	*symbolize*)
		mv app app.whole && cp app.stripped app
		run "LD_PRELOAD=libcprof.so CPUPROFILE=out.pb ./app"
		mv app.whole app
		run "$command"
		profile_of cpu full.pb parse
		holds full.pb commands-app.c ;;
	*demo.pl) run "$command"; profile_of cpu demo.pb Perl_ ;;
	'go tool pprof -top'*) run "$command"; said '^Type: cpu' 'Perl_' ;;
	'go tool pprof -comments'*) run "$command"; said '^# samples: ' '^# stacks: ' '^# symbols: ' '^# cpu time: ' '^# cost: ' ;;
	*script.py) run "$command"; profile_of heap app.heap.pb; profile_of wall app.wall.pb ;;
	*http://*) run "${command/6060/$port}"; said malloc_copy ;;
	'cprof list -disasm'*)
		/sbin/ldconfig -p | grep -q 'libcapstone\.so\.[456]' || return 0
		run "$command"
		said 'ROUTINE.*parse' ' total  address' ;;
	'cprof list'*) run "$command"; said 'ROUTINE.*parse' 'sum \* 31' ;;
	'cprof peek'*) run "$command"; said malloc_copy parse ;;
	'cprof tree'* | 'cprof top'*) run "$command"; said parse ;;
	'cprof flame'*.svg) run "$command"; holds out.svg '<svg' ;;
	'cprof flame'*change.html) run "$command"; holds change.html '<html' ;;
	'cprof flame'*) run "$command"; holds out.html '<html' ;;
	'cprof diff'*-fail-over=5%*)
		# Alike, so whether one is slower is chance: only 0 and 1 are answers.
		$limit bash -c "$command" >said 2>&1
		[ $? -le 1 ] || fail "$command: $(cat said)"
		said '^[*]*(fine|undecided|REGRESSION): total' ;;
	'cprof diff'*) run "$command"; said '  total$' ;;
	*flamegraph.pl*) run "$command"; holds out.svg '<svg' ;;
	*speedscope*) run "$command && python3 -c 'import json; json.load(open(\"out.json\"))[\"profiles\"][0]'" ;;
	'cprof timeline'*) run "$command"; said 'full height' 'differs' ;;
	'cprof merge'*) run "$command"; profile_of cpu all.pb parse ;;
	*) fail "no check for: $command" ;;
	esac
	ran=$((ran + 1))
}

ran=0
mkdir kept && cp *.pb out.pb.17 kept
while read -r command <&3; do
	[ -n "$command" ] || continue
	rm -f out.pb.*
	cp kept/* .
	check_command
done 3< <(commands_of_readme; commands_of_page; commands_of_man)
echo "$ran commands"
[ $ran -ge 36 ] || fail "the documents and cprof(1) show their commands in another way by now"
finish
