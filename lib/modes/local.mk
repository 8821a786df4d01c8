# SPDX-License-Identifier: BSD-3-Clause
# The modes: a folder each, and the table.
include lib/modes/cpu/local.mk
include lib/modes/wall/local.mk
include lib/modes/heap/local.mk
include lib/modes/lock/local.mk
include lib/modes/io/local.mk
include lib/modes/event/local.mk
LIB_SOURCES += \
	%D%/modes.c
