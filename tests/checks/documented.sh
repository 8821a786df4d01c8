#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every variable that the library reads is in cprof-environment(7), with the default, the range and the values that the
# tables of settings (lib/settings/config_table.c, lib/modes/) have; README.md stays short, every page is reached from it, and links
# from one document to another lead somewhere.
set -eu
cd "${srcdir:-.}"
failed=0
wrong() {
	echo "$*" >&2
	failed=1
}

tables=($(grep -lE "struct cp_config_row (rows|cp_config_table)" lib/settings/*.c lib/modes/*/*.c))
variables=$(grep -ohE '"(CPROF_|CPUPROFILE|WALLPROFILE|HEAPPROFILE|HEAP_PROFILE_|LOCKPROFILE)[A-Z_]*"' "${tables[@]}" lib/settings/config.c | tr -d '"' | sort -u)
[ "$(wc -w <<<"$variables")" -ge 30 ] || wrong "the settings' tables name their variables in another way by now"
for variable in $variables; do
	grep -qw -- "$variable" man/cprof-environment.7 || wrong "man/cprof-environment.7 does not tell $variable"
done
# Names and files that a page for developers tells are there.
for page in docs/architecture.md docs/signal-safety.md docs/threat-model.md docs/traps.md CONTRIBUTING.md; do
	for name in $(grep -oE '`c[pt]_[a-z0-9_]+`' "$page" | tr -d '`' | sort -u); do
		grep -rqw --include='*.[ch]' -- "$name" lib tools preload || wrong "$page: $name is nowhere"
	done
	for file in $(grep -oE '`[a-z0-9_/]+\.[ch]`' "$page" | tr -d '`' | sort -u); do
		git ls-files 2>/dev/null | grep -qE "(^|/)$file\$" || find . -path "*/$file" | grep -q . || wrong "$page: there is no $file"
	done
done
# A newcomer has five minutes.
[ "$(wc -l <README.md)" -le 200 ] && [ "$(wc -w <README.md)" -le 1500 ] ||
	wrong "README.md has $(wc -lw <README.md | tr -s ' ') lines and words, more than 200 and 1500"
for page in docs/*.md; do
	grep -qF "($page)" README.md || wrong "README.md does not lead to $page"
done

# The heading of a document that a link's fragment names, as the web page of a repository derives it.
anchors() { # document
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
# KIND, variable, default and range of each row: "NUMBER CPROF_MAX_DEPTH 512 1 4096". NULL: no default.
rows() { # tables
	sed -nE 's/^\t(NUMBER|SIZE|DURATION|SWITCH|SIGNAL|CHOICE)\("([A-Z_]+)", [a-z_]+, "?([A-Za-z0-9]+)"?,? ?(.*)$/\1 \2 \3 \4/p' "$@" |
		sed -E 's/[",)]//g'
}
# Prints the man page's entry for a variable, without markup.
entry() { # variable
	awk -v name="$1" '/^\.(TP|SH)/ { on = 0; head = 1; next } head { on = index(" " $0 " ", name); head = 0 } on' \
		man/cprof-environment.7 | sed -E 's/^\.[A-Z]+ //; s/\\-/-/g; s/"//g' | tr '\n' ' '
}
told_otherwise() { # tables
	rows "$@" | while read -r kind variable standard least most rest; do
		text=" $(entry "$variable") "
		case $kind$standard in
		*NULL | *SWITCH0 | NUMBER0) ;;
		*) grep -qiE "default:? $standard[^a-z0-9]|[^a-z]$standard +\(default\)" <<<"$text" ||
			echo "cprof-environment(7): $variable has no \"default $standard\"" ;;
		esac
		case $kind in
		NUMBER)
			[ "$most" -gt 1 ] || continue
			grep -qE "[^0-9]$least-$most[^0-9]" <<<"$text" || echo "cprof-environment(7): $variable is $least-$most"
			;;
		CHOICE)
			for value in $least $most $rest; do
				grep -qw -- "$value" <<<"$text" || echo "cprof-environment(7): $variable may be $value"
			done
			;;
		esac
	done
}
table=lib/settings/config_table.c
[ "$(rows "${tables[@]}" | wc -l)" -ge 20 ] || wrong "the settings' tables have their rows in another form by now"
[ -n "$(told_otherwise <(sed 's/"512"/"511"/' "$table"))" ] || wrong "this check does not see another default"
[ -n "$(told_otherwise <(sed 's/ 4096,/ 4097,/' "$table"))" ] || wrong "this check does not see another range"
found=$(told_otherwise "${tables[@]}")
[ -z "$found" ] || wrong "$found"
for document in *.md docs/*.md; do
	for link in $(grep -oE '\]\([^):]*#[^)]+' "$document" | cut -c 3-); do
		target=${link%%#*}
		target=${target:+$(dirname "$document")/$target}
		anchors "${target:-$document}" | grep -qxF -- "${link#*#}" || wrong "$document leads to $link, which is no heading"
	done
	for link in $(grep -oE '\]\([^)#]+' "$document" | cut -c 3- | grep -v ://); do
		[ -e "$(dirname "$document")/$link" ] || wrong "$document leads to $link, which is not there"
	done
done
exit $failed
