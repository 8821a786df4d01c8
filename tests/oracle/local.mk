# SPDX-License-Identifier: BSD-3-Clause
# The oracle on real programs: make oracle.
ORACLE += \
	%D%/agent.la
%C%_agent_la_SOURCES = %D%/agent.c %D%/compare.c %D%/differences.c %D%/shadow.c
if AARCH64
%C%_agent_la_SOURCES += %D%/agent_aarch64.c
else
%C%_agent_la_SOURCES += %D%/agent_x86_64.c %D%/signals.c %D%/skip.c
endif
%C%_agent_la_CFLAGS = $(AM_CFLAGS) -fno-stack-protector
# -rpath makes libtool build a shared object of what is not installed.
%C%_agent_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nonexistent
%C%_agent_la_LIBADD = libcprof-internal.la $(LIBERTY)
