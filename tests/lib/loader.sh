# SPDX-License-Identifier: BSD-3-Clause
# For the traps of the loader: builds modules and programs around tests/traps/hosts/plugin.c and
# loader-host.c.
. "$srcdir/tests/lib/e2e.sh"
traps=$srcdir/tests/traps/hosts
host=$builddir/tests/traps/hosts/loader-host
export CPUPROFILE_FREQUENCY=1000

plugin() { # name flags... : $work/NAME.so, busy in hot_NAME
	plugin_name=$1
	shift
	$CC -O2 -g -D_GNU_SOURCE -I"$srcdir/tests/lib" -fPIC -shared -DHOT="hot_$plugin_name" "$@" -o "$work/$plugin_name.so" \
		"$traps/plugin.c" -pthread || fail "$plugin_name.so: not built"
}

program() { # name flags... : $work/NAME from loader-host.c
	program_name=$1
	shift
	$CC -O2 -g -D_GNU_SOURCE -I"$srcdir/include" -I"$srcdir/tests/lib" "$@" -o "$work/$program_name" \
		"$traps/loader-host.c" -ldl || fail "$program_name: not built"
}

build_id() { # file
	${READELF:-readelf} -n "$1" 2>/dev/null | sed -n 's/.*Build ID: *//p'
}

mappings() { # profile: its mappings as go tool pprof lists them
	go tool pprof -symbolize=none -raw "$1" 2>/dev/null | sed -n '/^Mappings/,$p'
}

# A mapping of the file with the build id that the file has.
check_mapping() { # profile path build-id
	mappings "$1" | grep -F " $2 $3" >/dev/null ||
		fail "$1: no mapping of $2 with build id '$3': $(mappings "$1")"
}

has_go() {
	command -v go >/dev/null
}
