# SPDX-License-Identifier: BSD-3-Clause
PRELOAD_SMALL_SOURCES += \
	%D%/attach.c \
	%D%/exec.c \
	%D%/fork.c \
	%D%/loader.c \
	%D%/namespace.c \
	%D%/procfs.c \
	%D%/signal.c \
	%D%/syscall.c \
	%D%/thread_create.c \
	%D%/unsignalled.c
# musl has no profiler of its own, and its dlopen doesn't look at its caller.
if GLIBC
PRELOAD_SMALL_SOURCES += %D%/profil.c
else
PRELOAD_SMALL_SOURCES += %D%/dlopen_musl.c
endif
