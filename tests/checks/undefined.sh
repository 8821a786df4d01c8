# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the symbol checks: lists the symbols that an archive or object needs from elsewhere. $NM may hold options
# ("nm -B"), so it is not quoted.

# "module symbol" for each undefined symbol of the archives and objects given; the module is
# the source's name: libcprof_internal_la-log.o and log.o are both "log".
undefined() {
	${NM:-nm} -A -u "$@" | sed -n 's/^\(.*\):  *[UwvV] \(.*\)$/\1 \2/p' |
		sed 's/^[^ ]*[:\/]\([^ :\/]*\)\.o /\1 /; s/^[a-z_]*_la-//'
}

# The global symbols that they define.
defined() {
	${NM:-nm} -g --defined-only "$@" | awk 'NF == 3 { print $3 }'
}

fail() {
	echo "$*" >&2
	failed=1
}
failed=0
