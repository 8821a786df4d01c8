# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests of `cprof push`: a receiver (push-receiver.py) on the loopback interface.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3
srcdir=$(cd "$srcdir" && pwd)
# Nothing is left in a home.
export XDG_STATE_HOME=$work/state
export no_proxy=127.0.0.1,localhost

# Starts a receiver. Its URL is $url, its directory $received.
receiver() { # name
	received=$work/$1
	mkdir -p "$received"
	find "$received" -type f ! -name tls.pem -delete
	python3 "$srcdir/tests/lib/push-receiver.py" "$received" &
	receiver=$!
	owns $receiver
	wait_for 60 test -s "$received/port" || { harm "no receiver"; exit 1; }
	url=http://127.0.0.1:$(cat "$received/port")
	touch "$received/log"
}

answer() { # what...
	echo "$*" >"$received/answer"
}

takes_all() {
	rm -f "$received/answer"
}

# Runs cprof push. Its status is in $status, its messages in $work/NAME.said.
push() { # name arguments...
	local name=$1
	shift
	status=0
	timeout -s KILL 60 "$cprof" push "$@" </dev/null >"$work/$name.said" 2>&1 || status=$?
	if grep -q 'built without libcurl\|libcurl.*can.t be loaded' "$work/$name.said"; then
		skip "$(cat "$work/$name.said")"
	fi
}

ended() { # name status
	[ "$status" = "$2" ] || fail "$1: status $status, not $2: $(cat "$work/$1.said")"
}

says() { # name regex
	grep -qE "$2" "$work/$1.said" || fail "$1 does not say $2: $(cat "$work/$1.said")"
}

# How many lines of the receiver's log match.
logged() { # regex
	grep -cE "$1" "$received/log" || true
}

got() { # regex [count]
	[ "$(logged "$1")" = "${2:-1}" ] || fail "not ${2:-1} of $1: $(cat "$received/log")"
}

has_got() { # regex
	grep -qE "$1" "$received/log"
}

# The sum of a sample type over all profiles that were received and have it.
total() { # type
	"$cprof" merge -o "$work/total.pb" "${@:2}" 2>"$work/total.err" || fail "merge: $(cat "$work/total.err")"
	"$cprof" info "$work/total.pb" | sed -n "s,^  $1/.* total \([0-9]*\).*,\1,p"
}
