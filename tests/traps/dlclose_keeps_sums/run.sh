# SPDX-License-Identifier: BSD-3-Clause
# Trap: what ended threads have missed since the kernel's last tick is forgotten at each dlclose. Their
# start function may still be there, or not.
. "$srcdir/tests/lib/loader.sh"

all_is_told() { # name verb...
	name=$1
	shift
	profiles_well profiled "$name" "$host" "$@"
	"$cprof" info "$work/$name.pb" | awk '$1 == "cpu" && $2 == "time:" { print; found = $9 / $3 }
		END { exit !(found > 0.95 && found < 1.05) }' || fail "$name: the total is another"
}

plugin stays
plugin goes
all_is_told stays open "$work/stays.so" $(yes "open $work/goes.so close thread 3" | head -n 100) burn 50
all_is_told goes $(yes "open $work/goes.so thread 3 close" | head -n 100) burn 50
finish
