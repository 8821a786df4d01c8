#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The page's sources as C: embed.sh SOURCE-DIRECTORY > flame_embedded.c
# Each file becomes lines of an array; nothing is changed or left out.
set -eu
cd "$1"

array() { # name file...
	name=$1
	shift
	echo "const char *const $name[] = {"
	cat "$@" | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g; s/^.*$/	"&\\n",/'
	printf '\tNULL,\n};\n\n'
}

echo '/* Made by tools/flame/embed.sh from the files beside it. */'
echo '#include "flame/flame.h"'
echo
array ct_flame_template page.html
array ct_flame_style page.css
array ct_flame_script data.js tree.js look.js times.js draw.js notes.js state.js page.js panels.js timeline.js input.js
