# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/cfi_build.c \
	%D%/cfi_modules.c \
	%D%/cfi_poll.c \
	%D%/dlclose_gate.c \
	%D%/imports.c \
	%D%/library.c \
	%D%/loaded.c \
	%D%/module.c \
	%D%/unwinders.c
SIGSAFE_SMALL_SOURCES += \
	%D%/guess/cfi_forward.c \
	%D%/guess/cfi_code.c \
	%D%/guess/cfi_guess.c \
	%D%/guess/cfi_insn.c \
	%D%/guess/cfi_epilogue.c \
	%D%/guess/cfi_quirks.c \
	%D%/signal/cfi_base.c \
	%D%/signal/cfi_expr.c \
	%D%/signal/cfi_row.c \
	%D%/signal/cfi_table.c \
	%D%/signal/rules_learn.c \
	%D%/signal/unwind_libunwind.c
SIGSAFE_SOURCES += \
	%D%/signal/cfi.c \
	%D%/signal/rules.c \
	%D%/signal/unwind_dwarf.c \
	%D%/signal/unwind_fp.c
