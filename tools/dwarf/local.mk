# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/dwarf.c \
	%D%/dwarf_abbrev.c \
	%D%/dwarf_closures.c \
	%D%/dwarf_code.c \
	%D%/dwarf_elf.c \
	%D%/dwarf_file.c \
	%D%/dwarf_form.c \
	%D%/dwarf_line.c \
	%D%/dwarf_module.c \
	%D%/dwarf_names.c \
	%D%/dwarf_parents.c \
	%D%/dwarf_ranges.c \
	%D%/dwarf_rows.c \
	%D%/dwarf_spelling.c \
	%D%/dwarf_split.c \
	%D%/dwarf_symbols.c \
	%D%/dwarf_texts.c \
	%D%/dwarf_unit.c \
	%D%/dwarf_unpacked.c \
	%D%/dwarf_walk.c
