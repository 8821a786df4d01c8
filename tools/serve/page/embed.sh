#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The page's sources as C: embed.sh SOURCE-DIRECTORY > serve_embedded.c
# Each file becomes lines of an array; nothing is changed or left out.
set -eu
cd "$1"

array() { # name file
	echo "const char *const $1[] = {"
	sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g; s/^.*$/	"&\\n",/' "$2"
	printf '\tNULL,\n};\n\n'
}

echo '/* Made by tools/serve/page/embed.sh from the files beside it. */'
echo '#include "serve/serve.h"'
echo
array ct_serve_style home.css
array ct_serve_script home.js
