# Sourced by run.sh and tests/checks/mutants.sh: what the text before a mutant's diff says.

# Every value of KEY, a line each.
mutant_header() { # file key
	sed -n "/^--- /q; s/^$2: //p" "$1"
}

mutant_has_diff() { # file
	grep -q '^--- ' "$1"
}
