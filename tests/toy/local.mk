# SPDX-License-Identifier: BSD-3-Clause
# A mode is one folder and one row: a variant of the library with a mode more, which only tests load.
# modes/toy/ is the folder. The row, and what a mode has in cprof.h, are put into copies of the two files.
# session/api.c is compiled again, because it knows the size of struct cprof_options; the rest of the
# library is what libcprof.la is made of.
TOY_SOURCES =
include tests/toy/modes/toy/local.mk
TOY_LIBRARY += %D%/libcprof-toy.la
%C%_libcprof_toy_la_SOURCES = $(TOY_SOURCES) lib/session/api.c
nodist_%C%_libcprof_toy_la_SOURCES = %D%/modes.c
%C%_libcprof_toy_la_CPPFLAGS = -I%D%/include -iquote $(top_srcdir)/%D% $(AM_CPPFLAGS)
%C%_libcprof_toy_la_CFLAGS = $(SIGSAFE_CFLAGS)
%C%_libcprof_toy_la_LIBADD = $(libcprof_la_OBJECTS) libpreload-small.la $(INTERNAL)
# -z muldefs: this library's table of modes and api.c come first, and win.
%C%_libcprof_toy_la_LDFLAGS = $(libcprof_la_LDFLAGS) -avoid-version -rpath /nonexistent -Wl,-z,muldefs
EXTRA_%C%_libcprof_toy_la_DEPENDENCIES = $(libcprof_la_OBJECTS) libpreload-small.la
$(%C%_libcprof_toy_la_OBJECTS): %D%/include/cprof.h

%D%/modes.c: lib/modes/modes.c
	$(AM_V_GEN)$(MKDIR_P) %D% && sed 's/^	ROW(CPROF_LOCK, lock)/	ROW(CPROF_TOY, toy) \\\n&/' "$(srcdir)/lib/modes/modes.c" >$@
%D%/include/cprof.h: include/cprof.h
	$(AM_V_GEN)$(MKDIR_P) %D%/include && sed -e 's/^	CPROF_EVENT = 5,/&\n	CPROF_TOY = 6,/' \
		-e 's/^	unsigned event_period;.*/&\n	const char *toy_path;\n	unsigned toy_every;/' "$(srcdir)/include/cprof.h" >$@
TOY_GENERATED = %D%/modes.c %D%/include/cprof.h
CLEANFILES += $(TOY_GENERATED)

TOY_HOSTS += %D%/toy-host
%C%_toy_host_CPPFLAGS = -I%D%/include $(AM_CPPFLAGS)
%C%_toy_host_LDADD = %D%/libcprof-toy.la
$(%C%_toy_host_OBJECTS): %D%/include/cprof.h
E2E_TESTS += %D%/toy.sh
