# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/buildid.c \
	%D%/datasym.c \
	%D%/debugfile.c \
	%D%/demangle.c \
	%D%/dynsym.c \
	%D%/ehfunc.c \
	%D%/elf.c \
	%D%/kallsyms.c \
	%D%/loader_maps.c \
	%D%/maps_lines.c \
	%D%/modules.c \
	%D%/namecache.c \
	%D%/perfmap.c \
	%D%/plt.c \
	%D%/symbols.c \
	%D%/symtab.c
