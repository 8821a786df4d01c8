# SPDX-License-Identifier: BSD-3-Clause
PRELOAD_SMALL_SOURCES += \
	%D%/credentials.c \
	%D%/exec.c \
	%D%/fork.c \
	%D%/loader.c \
	%D%/mask.c \
	%D%/namespace.c \
	%D%/procfs.c \
	%D%/profil.c \
	%D%/seccomp.c \
	%D%/send.c \
	%D%/signal.c \
	%D%/syscall.c \
	%D%/thread_create.c \
	%D%/unsignalled.c
