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

PRELOAD_SMALL_SOURCES += \
	%D%/hooks/credentials.c \
	%D%/hooks/dispatch.c \
	%D%/hooks/dispatch.h \
	%D%/hooks/exec.c \
	%D%/hooks/exit.c \
	%D%/hooks/fork.c \
	%D%/hooks/loader.c \
	%D%/hooks/mask.c \
	%D%/hooks/namespace.c \
	%D%/hooks/procfs.c \
	%D%/hooks/profil.c \
	%D%/hooks/raw_sigaction.c \
	%D%/hooks/seccomp.c \
	%D%/hooks/send.c \
	%D%/hooks/signal.c \
	%D%/hooks/syscall.c \
	%D%/hooks/thread_create.c \
	%D%/hooks/trace.c \
	%D%/hooks/unsignalled.c \
	%D%/hooks/unsignalled.h
SIGSAFE_SOURCES += \
	%D%/signal/disposition.c \
	%D%/signal/restart.c \
	%D%/signal/sigprof.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/deferred.c \
	%D%/signal/handler_call.c \
	%D%/signal/altstack.c
