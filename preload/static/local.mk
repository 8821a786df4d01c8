# SPDX-License-Identifier: BSD-3-Clause
# libcprof.a, for programs that are linked statically: one object, in which each function that the library interposes
# has the name by which the linker's --wrap finds it (names.sh).
STATIC_LEFT_OUT = %-loaded.lo %-library.lo %-imports.lo %-attach.lo %-loader.lo
STATIC_PARTS = $(libcprof_la_OBJECTS) $(libpreload_small_la_OBJECTS) $(libcprof_internal_la_OBJECTS) \
	$(libsigsafe_la_OBJECTS) $(libsigsafe_small_la_OBJECTS) $(libcprof_static_la_OBJECTS)
STATIC_OBJECTS = $(foreach o,$(filter-out $(STATIC_LEFT_OUT),$(STATIC_PARTS)),$(dir $(o)).libs/$(notdir $(o:.lo=.o)))
noinst_LTLIBRARIES += libcprof-static.la
libcprof_static_la_SOURCES = lib/unwind/loaded_static.c
libcprof_static_la_CFLAGS = $(AM_CFLAGS) $(CP_SIZE)
staticdir = $(libdir)
static_DATA = libcprof.a libcprof.options
STATIC = static-made
CLEANFILES += libcprof.a libcprof.options $(STATIC)/names.s $(STATIC)/hooked $(STATIC)/libc $(STATIC)/main $(STATIC)/main.c \
	$(STATIC)/plain $(STATIC)/redefine $(STATIC)/keep $(STATIC)/options $(STATIC)/names.o $(STATIC)/whole.o $(STATIC)/libcprof.o
$(STATIC)/options: $(srcdir)/%D%/names.sh libcprof.la
	$(AM_V_GEN)CC='$(CC)' NM='$(NM)' CPPFLAGS='$(CPPFLAGS) -I.' $(BASH) $(srcdir)/%D%/names.sh \
		.libs/libcprof.so $(srcdir)/preload/libcprof.map $(srcdir) $(STATIC)
libcprof.options: $(STATIC)/options
	$(AM_V_GEN)cp $(STATIC)/options $@
libcprof.a: $(STATIC)/options $(srcdir)/%D%/libcprof.lds libcprof.la libcprof-static.la libcprof-internal.la
	$(AM_V_GEN)$(CC) -c -o $(STATIC)/names.o $(STATIC)/names.s && \
	$(CC) $(if $(CP_LTO),-flinker-output=nolto-rel) -nostdlib -r -Wl,-T,$(srcdir)/%D%/libcprof.lds -o $(STATIC)/whole.o $(STATIC_OBJECTS) \
		$(STATIC)/names.o $(or $(LIBERTY_FILE),$(filter -L%,$(LDFLAGS)) $(LIBERTY)) && \
	$(OBJCOPY) --strip-debug --redefine-syms=$(STATIC)/redefine --keep-global-symbols=$(STATIC)/keep \
		$(STATIC)/whole.o $(STATIC)/libcprof.o && \
	rm -f $@ && $(AR) rcs $@ $(STATIC)/libcprof.o
