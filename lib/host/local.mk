# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/chained.c \
	%D%/disposition_view.c \
	%D%/fatal.c \
	%D%/fork_mark.c \
	%D%/handler_mask.c \
	%D%/handler_stack.c \
	%D%/mask_view.c \
	%D%/process_tree.c \
	%D%/profiled.c \
	%D%/real.c \
	%D%/send_self.c \
	%D%/signals.c \
	%D%/sigprof_handler.c

SIGSAFE_SOURCES += \
	%D%/signal/disposition.c \
	%D%/signal/restart.c \
	%D%/signal/sigprof.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/deferred.c \
	%D%/signal/handler_call.c \
	%D%/signal/altstack.c
