# SPDX-License-Identifier: BSD-3-Clause
# cprof live, through tmux as a person sees it: functions, modes by keys, flame graph, threads, filter, pause, sizes,
# colours; the terminal afterwards; what is on in the process afterwards.
. "$srcdir/tests/lib/control.sh"
need tmux stty
$python -c 'import ctypes; ctypes.CDLL("libncursesw.so.6")' 2>/dev/null || skip "libncursesw6 is not installed"
cd "$work"
unset TMUX COLUMNS LINES NO_COLOR CPROF_PAGER PAGER
export LC_ALL=C.UTF-8
printf 'PS1="ready\\$ "\nHISTFILE=\nset +H\n' >bashrc

screen() { tmux -S "$work/tmux" -f /dev/null "$@"; }
pane() { screen capture-pane -p -t "$tty" "$@"; }
keys() { screen send-keys -t "$tty" "$@"; }
see() { pane | grep -qE -- "$1"; }
miss() { ! see "$1"; }
# What follows would wait in vain, so a screen that doesn't come is the end.
shows() { # what regex
	wait_for 30 see "$2" && return
	fail "$1: the screen doesn't show $2: $(pane)"
	finish
}
hides() { # what regex
	wait_for 30 miss "$2" && return
	fail "$1: the screen shows $2: $(pane)"
	finish
}
# The shell has the terminal again, as it was.
ready() { # what [exit-status]
	shows "$1" '^ready\$$'
	keys 'echo "status=$?"' Enter
	shows "$1" "^status=${2-[0-9]}"
	keys 'stty -a >stty.now; echo back-$?' Enter
	shows "$1" '^back-0'
	cmp -s stty.before stty.now || fail "$1: the terminal is left changed: $(diff stty.before stty.now)"
	keys clear Enter
	hides "$1" back-0
}
live() { # options...
	keys "'$cprof' live -every=0.5s $*" Enter
}

app one
eval "env TERM=xterm-256color tmux -S '$work/tmux' -f /dev/null new-session -d -x 80 -y 24 \
	'TERM=xterm-256color exec bash --noprofile --rcfile $work/bashrc -i'" "$told>&-" || skip "tmux doesn't start"
owns "$(tmux -S "$work/tmux" display -p '#{pid}')"
tty=0
shows shell '^ready'
keys 'stty -a >stty.before; clear' Enter
wait_for 60 test -s stty.before || fail "no shell"

# ---- the table ----
live $pid
shows first "^ serve-host  pid $pid  cpu +[0-9]+%  modes \(cpu\) .*every 0.5s"
shows first '^ cpu: [0-9.]+ m?s in 0\.[0-9]s, [0-9]+ samples  lost 0  cost '
shows first '^Your code: .*%'
shows first '^ .*%  *█.* hot$'
shows first ' / filter .* q quit$'
lists $pid cpu || fail "cpu isn't on"
# The rows of all functions: by own, then by total, the largest first.
ordered() { # number of the share: own, total
	pane | sed '1,/all functions/d' | awk -v c="$1" '/%/ { n = 0; for (i = 1; i <= NF; i++) if ($i ~ /%$/ && ++n == c) v = $i + 0
		rows++; bad += rows > 1 && v > last; last = v }
		END { exit !(rows > 3 && !bad) }'
}
wait_for 30 ordered 1 || fail "not by own: $(pane)"
keys s
shows sorted ' total\*'
wait_for 30 ordered 2 || fail "not by total: $(pane)"
keys s
keys s /
shows filter '^ Filter: _'
keys -l war
keys Enter
shows filter '^ Filter: war '
hides filter ' hot$'
shows filter ' warm$'
keys Escape
shows all ' hot$'
keys p
shows paused PAUSED
keys p
hides paused PAUSED
keys + +
shows slower 'every 2s'
keys - -
shows faster 'every 0.5s'
keys '?'
shows help '^ q, Ctrl-C +leave'
keys x

# ---- modes ----
keys l
shows lock '^ lock delay: [0-9.]* m?s in .* waits'
shows lock ' critical$'
keys l
shows holders '^ holders blocking: .* waits'
keys h
shows heap '^ heap inuse_space: [1-9]'
shows heap ' keep$'
keys v
shows heap '^ heap resident_space: '
keys v v v v
shows heap '^ heap alloc_objects: [1-9]'
shows heap 'modes \(cpu\) \(heap\) \(lock\) '
lists $pid cpu,heap,lock || fail "the modes are not on: $("$cprof" ps)"

# ---- flame graph and threads ----
keys c f
shows flame '^ all$'
shows flame '^ work$'
shows flame '^ *(critical|hot) '
shows flame '^ all: .*100%'
keys Down Down
hides chosen '^ all: '
shows chosen '^ [a-z_0-9]+: .*100%'
keys t
shows threads "^3 threads of process $pid, in [1-3] places?"
shows threads ' main  serve-host.c:'
keys t
shows back '^Your code'

# ---- sizes ----
screen resize-window -t $tty -x 200 -y 50
shows wide ' c cpu  w wall .* q quit'
[ "$(pane | sed -n 50p | grep -c 'q quit')" = 1 ] || fail "the last line isn't at the bottom: $(pane)"
screen resize-window -t $tty -x 80 -y 24
wait_for 60 eval '[ "$(pane | sed -n 24p | grep -c "q quit")" = 1 ]' || fail "80x24 again: $(pane)"
screen resize-window -t $tty -x 20 -y 5
shows tiny '^ serve-host  pid'
screen resize-window -t $tty -x 80 -y 24
shows 'usual size' ' / filter .* q quit$'

# ---- the terminal is given back ----
keys C-z
shows stopped Stopped
ready stopped
keys fg Enter
shows continued '^Your code'
keys q
ready ended 0
wait_for 60 lists $pid - || fail "modes are left on: $("$cprof" ps)"

# A mode that runs already stays as it is; SIGTERM and Ctrl-C.
"$cprof" start -wall $pid >/dev/null || fail "no wall"
live $pid
shows wall '^ wall: .* samples'
shows wall '  modes wall  '
keys c
shows both 'modes \(cpu\) wall '
kill -TERM "$(pgrep -f "^$cprof live -every=0.5s $pid")"
ready terminated 143
wait_for 60 lists $pid wall || fail "after SIGTERM: $("$cprof" ps)"
# The first mode that is asked for.
live -lock -cpu=200 $pid
shows first '^ cpu: .* samples'
keys C-c
ready interrupted 0
"$cprof" stop -discard $pid >/dev/null

# ---- colours and letters ----
coloured() { pane -e | grep -qE $'\e\\[[0-9;]*[34]8;5;[0-9]+m' || return; }
live $pid
shows colours '^Your code'
coloured || fail "no colours: $(pane -e)"
keys q
ready colours
keys "export NO_COLOR=1 LC_ALL=C" Enter
live $pid
shows plain '^Your code'
shows plain '%  *#+-* +hot$'
pane -e | grep -qE $'\e\\[([0-9;]*;)?[34][0-7]m|8;5;' && fail "colours in spite of NO_COLOR: $(pane -e)"
keys f
shows plain '^\[all  *\]$'

# ---- the process ends ----
exec {told}>&-
wait $pid
shows gone "^ Process $pid has ended"
shows gone ENDED
keys f
shows 'still there' ' hot$'
keys q
ready left 0

# ---- where there is no screen ----
live $pid
shows 'no process' "^cprof live: there is no process $pid"
ready 'no process' 2
app two
keys "TERM=dumb '$cprof' live $pid" Enter
shows dumb '^cprof live: the terminal \(TERM=dumb\) has no screen'
keys clear Enter
mkdir -p empty
: >empty/libncursesw.so.6
keys "LD_LIBRARY_PATH=empty '$cprof' live $pid" Enter
shows 'no ncurses' 'needs ncurses .libncursesw.so.6.'
ready 'no ncurses' 2
"$cprof" live $pid >piped.out 2>&1 && fail "without a terminal"
grep -q 'needs a terminal; "cprof record PID"' piped.out || fail "without a terminal: $(cat piped.out)"
"$cprof" live -every=0.1s $pid >every.out 2>&1 && fail "0.1s"
grep -q 'is not 0.5s to 1m' every.out || fail "0.1s: $(cat every.out)"
$READELF -d "$cprof" | grep -qiE 'NEEDED.*(ncurses|tinfo)' && fail "every verb needs ncurses"
exec {told}>&-
wait $pid
[ ! -s one.err ] && [ ! -s two.err ] || fail "the program says: $(cat one.err two.err)"
screen kill-server
finish
