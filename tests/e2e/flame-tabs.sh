# SPDX-License-Identifier: BSD-3-Clause
# The page of `cprof flame` of several profiles in headless Chromium: comparisons, tabs, and the tab Time.
script=flame-tabs.py
. "$srcdir/tests/lib/flame-page.sh"
