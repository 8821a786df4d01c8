# SPDX-License-Identifier: BSD-3-Clause
# usage: needed.sh TEST... -- PROGRAM...
# Prints those of the PROGRAMs (paths in the build directory) that the TESTs need: unit tests themselves; the programs
# that scripts name by their paths, or, as "$hosts/execs", by their last parts; those of a trap's own folder; and the
# same of the scripts that a script sources or runs. Every script needs the validator.
set -u
: "${srcdir:?is the source directory}"
queue=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	queue+=("$1")
	shift
done
shift
declare -A by_path by_name wanted seen
for program; do
	by_path[${program%.la}]=$program
	name=${program##*/}
	[ "$name" = host ] || by_name[${name%.la}]=$program
	[[ $program != tests/traps/*/* || $program == tests/traps/hosts/* ]] || by_path[${program%/*}/run.sh]+=" $program"
done

want() { # program...
	for program; do wanted[$program]=1; done
}

while [ ${#queue[@]} -gt 0 ]; do
	script=${queue[0]} queue=("${queue[@]:1}")
	[ -z "${seen[$script]:-}" ] || continue
	seen[$script]=1
	want ${by_path[$script]:-}
	[[ $script == *.sh && -e $srcdir/$script ]] || continue
	want tests/tools/pprof-check
	for word in $(grep -oE 'trap_[a-z0-9_]+|[A-Za-z0-9_.-]*/[A-Za-z0-9_/.-]+' "$srcdir/$script" | sort -u); do
		[[ $word == *tests/* ]] && path=tests/${word#*tests/} || path=$word
		case $path in
		*.sh) queue+=("$path") ;;
		trap_*) queue+=("tests/traps/${path#trap_}/run.sh") ;;
		*/) ;;
		*)
			name=${path##*/}
			want ${by_path[$path]:-${by_name[${name%.so}]:-}}
			;;
		esac
	done
done
printf '%s\n' "${!wanted[@]}" | sort
