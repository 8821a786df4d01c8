# SPDX-License-Identifier: BSD-3-Clause
# The graph of `cprof flame` in headless Chromium, driven like a user would.
script=flame-page.py
. "$srcdir/tests/lib/flame-page.sh"
