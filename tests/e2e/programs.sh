# SPDX-License-Identifier: BSD-3-Clause
# Three programs of tests/programs, as "make programs" runs all of them.
exec bash "$srcdir/tests/programs/run.sh" sqlite3 perl git
