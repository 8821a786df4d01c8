#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sources are as clang-format 14 (Debian 12's) leaves them; other versions differ in
# details, so they are not asked.
set -eu
cd "${srcdir:-.}"
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
clang-format --version | grep -q 'version 14\.' || { echo "clang-format is not version 14"; exit 77; }
find bench examples include lib preload tests tools \
	\( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print0 2>/dev/null |
	xargs -0 clang-format --dry-run -Werror 2>&1 | grep ' error: ' |
	sed 's/:.*//' | sort | uniq -c | awk '
		{ print $2 ": " $1 " places; run clang-format -i " $2; bad = 1 }
		END { exit bad }'
