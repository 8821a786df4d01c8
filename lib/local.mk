# SPDX-License-Identifier: BSD-3-Clause
# The library: its rooms, in the order in which they may know each other (docs/architecture.md).
include lib/base/local.mk
include lib/sample/local.mk
include lib/settings/local.mk
include lib/symbols/local.mk
include lib/unwind/local.mk
include lib/profile/local.mk
include lib/labels/local.mk
include lib/output/local.mk
include lib/host/local.mk
include lib/collect/local.mk
include lib/modes/local.mk
include lib/session/local.mk
include lib/hooks/local.mk
include preload/local.mk

# What may run in a signal handler or inside malloc. No stack protector: its canary is read
# through TLS, which a foreign thread may not have. No _FORTIFY_SOURCE: __memmove_chk and its like end the program by stdio.
SIGSAFE_CFLAGS = $(AM_CFLAGS) $(CP_PACKED) -fno-stack-protector -U_FORTIFY_SOURCE

noinst_LTLIBRARIES = libsigsafe-small.la libsigsafe.la libcprof-internal.la libpreload-small.la
libsigsafe_la_SOURCES = $(SIGSAFE_SOURCES)
libsigsafe_la_CFLAGS = $(SIGSAFE_CFLAGS)
libsigsafe_la_LIBADD = libsigsafe-small.la
# What runs once for each place in the code, when something is said, or for few events.
libsigsafe_small_la_SOURCES = $(SIGSAFE_SMALL_SOURCES)
libsigsafe_small_la_CFLAGS = $(SIGSAFE_CFLAGS) $(CP_SIZE)
# Tests see the hidden symbols through this library; users don't.
libcprof_internal_la_SOURCES = $(LIB_SOURCES)
libcprof_internal_la_CFLAGS = $(AM_CFLAGS) $(CP_SIZE)
libcprof_internal_la_CPPFLAGS = $(AM_CPPFLAGS) -DCP_LIBDIR='"$(libdir)"' -DCP_BINDIR='"$(bindir)"'
libcprof_internal_la_LIBADD = libsigsafe.la
INTERNAL = libcprof-internal.la $(LIBERTY)
# The same with what is built for size optimized as a whole when libcprof.so is linked. The checks and the unit tests go
# on with the libraries above.
if LTO
noinst_LTLIBRARIES += libcprof-lto.la libsigsafe-lto.la
libsigsafe_lto_la_SOURCES = $(SIGSAFE_SMALL_SOURCES)
libsigsafe_lto_la_CFLAGS = $(libsigsafe_small_la_CFLAGS) $(CP_LTO)
libcprof_lto_la_SOURCES = $(LIB_SOURCES)
libcprof_lto_la_CFLAGS = $(libcprof_internal_la_CFLAGS) $(CP_LTO)
libcprof_lto_la_CPPFLAGS = $(libcprof_internal_la_CPPFLAGS)
libcprof_lto_la_LIBADD = $(libsigsafe_la_OBJECTS) libsigsafe-lto.la
EXTRA_libcprof_lto_la_DEPENDENCIES = $(libsigsafe_la_OBJECTS) libsigsafe-lto.la
LIBRARY_PARTS = libcprof-lto.la
else
LIBRARY_PARTS = libcprof-internal.la
endif
# The demanglers run in the collector or at an exit, with all signals blocked, and throw nothing: their unwind tables
# (6.7 KB) have no reader.
if LIBERTY_FILE
CLEANFILES += lib/libiberty.a
lib/libiberty.a: $(LIBERTY_FILE)
	$(AM_V_GEN)$(MKDIR_P) lib && $(OBJCOPY) -R .eh_frame -R .rela.eh_frame "$(LIBERTY_FILE)" $@
endif

if !SANITIZE
lib_LTLIBRARIES = libcprof.la
endif
libcprof_la_SOURCES = $(PRELOAD_SOURCES)
libcprof_la_CFLAGS = $(AM_CFLAGS) $(CP_PACKED)
libcprof_la_LIBADD = libpreload-small.la $(LIBRARY_PARTS) $(LIBRARY_LIBERTY)
# Functions that make a system call anyway.
libpreload_small_la_SOURCES = $(PRELOAD_SMALL_SOURCES)
libpreload_small_la_CFLAGS = $(AM_CFLAGS) $(CP_SIZE) $(CP_LTO)
# -z now: a lazy binding resolved in a handler would take the loader's lock.
# -z nodelete: handlers and the collector outlive a dlclose of this library.
# --sort-section: variables of a few bytes lie together, and not between large tables, each on a page of its own. Each page that
# a fork's child writes is copied. -fdata-sections at the link is for --enable-lto, where gcc makes the sections then.
# -z initfirst: our constructor comes before those of the libraries that the program needs.
INITFIRST = -Wl,-z,initfirst
libcprof_la_LDFLAGS = $(CP_LTO) -Wc,-fdata-sections -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/preload/libcprof.map \
	-Wl,--version-script=$(top_srcdir)/preload/$(LIBC).map -Wl,--exclude-libs,libiberty.a \
	-Wl,-z,now -Wl,-z,nodelete -Wl,--sort-section=alignment $(INITFIRST) -Wl,-z,defs -Wl,-z,noseparate-code
EXTRA_libcprof_la_DEPENDENCIES = preload/libcprof.map preload/$(LIBC).map
if LIBERTY_FILE
EXTRA_libcprof_la_DEPENDENCIES += lib/libiberty.a
endif
if STATIC
include preload/static/local.mk
endif
