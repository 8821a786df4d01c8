# SPDX-License-Identifier: BSD-3-Clause
LIB_SOURCES += \
	%D%/lock.c \
	%D%/lock_holders.c \
	%D%/lock_names.c \
	%D%/lock_rows.c \
	%D%/lock_wakers.c
PRELOAD_SOURCES += \
	%D%/hooks/cond.c \
	%D%/hooks/mutex.c \
	%D%/hooks/rwlock.c
PRELOAD_SMALL_SOURCES += \
	%D%/hooks/join.c
SIGSAFE_SOURCES += \
	%D%/signal/lock_event.c \
	%D%/signal/lock_holder.c
SIGSAFE_SMALL_SOURCES += \
	%D%/signal/lock_wake.c \
	%D%/signal/lock_sample.c
