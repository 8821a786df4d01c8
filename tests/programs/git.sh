# SPDX-License-Identifier: BSD-3-Clause
about="git: a repository with branches, merges, repack, clone, blame"
packages="git"
needs="git"
# git grep compiles its patterns (PCRE2).
compiles=yes

prepare() {
	seq 1 20000 | sed 's/$/ some text of a line/' >text
}

commits() {
	for i in $(seq 12); do
		sed "s/some text/text $i/;$((i * 100))d" "$shared/text" >"file$((i % 4))"
		run git add -A
		run git commit -q -m "change $i"
	done
}

load() {
	export GIT_AUTHOR_DATE="2020-01-01T00:00:00Z" GIT_COMMITTER_DATE="2020-01-01T00:00:00Z" HOME=$PWD GIT_CONFIG_NOSYSTEM=1
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_PAGER=cat
	run git init -q -b main repo || return
	cd repo || return
	commits
	run git checkout -q -b side HEAD~5
	echo other >other
	run git add other
	run git commit -q -m side
	run git checkout -q main
	run git merge -q -m merged side
	run git -c pack.threads=3 repack -adfq --window=20
	run git gc -q
	run git fsck --strict
	run git log --stat -M -C
	run git blame file1 | md5sum
	run git grep -c 'text 1' HEAD
	cd ..
	run git clone -q --no-local repo other
	run git -C other log --format=%H
	run git -C other archive HEAD | md5sum
}

# Debian's git has no symbols: its functions are called after their place.
verify() {
	has cpu 'git\+0x[0-9a-f]+;__libc_start_call_main;__libc_start_main'
	has heap 'git\+0x[0-9a-f]+;__libc_start_call_main;__libc_start_main'
}
