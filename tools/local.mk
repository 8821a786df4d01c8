# SPDX-License-Identifier: BSD-3-Clause
# The cprof tool: a program of its own. Of the library it has the public header, the demanglers and the names of events.
include tools/core/local.mk
include tools/dwarf/local.mk
include tools/flame/local.mk
include tools/convert/local.mk
include tools/diff/local.mk
include tools/control/local.mk
include tools/attach/local.mk
include tools/live/local.mk
include tools/otlp/local.mk
include tools/push/local.mk
include tools/serve/local.mk
include tools/verbs/local.mk
# Names must come out as the library writes them, and events be the ones that it knows.
TOOL_SOURCES += \
	lib/base/text.c \
	lib/modes/event/event_names.c \
	lib/symbols/demangle.c

# Of lib/ the demangler, the names of events and the control protocol are asked for, and nothing else (tests/checks/includes.sh).
TOOL_CPPFLAGS = -iquote $(top_srcdir)/tools -iquote tools -iquote . -iquote $(top_srcdir)/lib -I$(top_srcdir)/include -D_GNU_SOURCE \
	-DCP_LIBEXECDIR='"$(pkglibexecdir)"' -DCP_LIBDIR='"$(libdir)"' \
	-DCP_BINDIR='"$(bindir)"'
if !GLIBC
TOOL_CPPFLAGS += -include core/out_musl.h
endif
TOOL_CFLAGS = $(CP_SPEED) -std=gnu11 $(CP_WARN) $(CP_SANITIZE) \
	$(PROTOBUF_C_CFLAGS) $(LIBELF_CFLAGS) $(PCRE2_CFLAGS) $(ZLIB_CFLAGS)
TOOL_LIBS = $(PROTOBUF_C_LIBS) $(LIBELF_LIBS) $(PCRE2_LIBS) $(ZLIB_LIBS) $(LIBERTY) -lm
TOOL_TEST_CPPFLAGS = $(TOOL_CPPFLAGS) -iquote $(top_srcdir)/tests/lib

FLAME_PAGE = \
	tools/flame/page/embed.sh tools/flame/page/page.html tools/flame/page/page.css \
	tools/flame/page/data.js tools/flame/page/draw.js tools/flame/page/input.js tools/flame/page/look.js \
	tools/flame/page/notes.js tools/flame/page/page.js tools/flame/page/panels.js tools/flame/page/state.js tools/flame/page/tree.js \
	tools/flame/page/timeline.js tools/flame/page/times.js
SERVE_PAGE = tools/serve/page/embed.sh tools/serve/page/home.css tools/serve/page/home.js
TOOL_GENERATED = tools/core/profile.pb-c.c tools/core/profile.pb-c.h tools/otlp/otlp.pb-c.c tools/otlp/otlp.pb-c.h \
	tools/flame/flame_embedded.c tools/serve/serve_embedded.c
CLEANFILES += $(TOOL_GENERATED)
tools/core/profile.pb-c.c: $(top_srcdir)/tools/core/profile.proto
	$(AM_V_GEN)$(MKDIR_P) tools/core && $(PROTOC_C) --proto_path=$(top_srcdir)/tools/core --c_out=tools/core $(top_srcdir)/tools/core/profile.proto
tools/core/profile.pb-c.h: tools/core/profile.pb-c.c
tools/otlp/otlp.pb-c.c: $(top_srcdir)/tools/otlp/otlp.proto
	$(AM_V_GEN)$(MKDIR_P) tools/otlp && $(PROTOC_C) --proto_path=$(top_srcdir)/tools/otlp --c_out=tools/otlp $(top_srcdir)/tools/otlp/otlp.proto
tools/otlp/otlp.pb-c.h: tools/otlp/otlp.pb-c.c
tools/flame/flame_embedded.c: $(FLAME_PAGE)
	$(AM_V_GEN)$(MKDIR_P) tools/flame && sh $(top_srcdir)/tools/flame/page/embed.sh $(top_srcdir)/tools/flame/page >$@.new && mv $@.new $@
tools/serve/serve_embedded.c: $(SERVE_PAGE)
	$(AM_V_GEN)$(MKDIR_P) tools/serve && sh $(top_srcdir)/tools/serve/page/embed.sh $(top_srcdir)/tools/serve/page >$@.new && mv $@.new $@

# Unit tests and fuzzers of the tool link this.
TOOL_LIBRARY = libcprof-tool.la
if TOOL
BUILT_SOURCES = $(TOOL_GENERATED)
noinst_LTLIBRARIES += $(TOOL_LIBRARY)
# Fuzzers have a main of their own, for everything that is linked.
if !FUZZING
bin_PROGRAMS = cprof
endif
endif
libcprof_tool_la_SOURCES = $(TOOL_SOURCES)
nodist_libcprof_tool_la_SOURCES = $(TOOL_GENERATED)
libcprof_tool_la_CPPFLAGS = $(TOOL_CPPFLAGS)
libcprof_tool_la_CFLAGS = $(TOOL_CFLAGS)
libcprof_tool_la_LIBADD = $(TOOL_LIBS)
cprof_SOURCES = tools/main.c
cprof_CPPFLAGS = $(TOOL_CPPFLAGS)
cprof_CFLAGS = $(TOOL_CFLAGS)
cprof_LDADD = $(TOOL_LIBRARY)
