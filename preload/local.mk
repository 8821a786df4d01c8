# SPDX-License-Identifier: BSD-3-Clause
# The preloaded library's own parts: its constructor, and the names that it exports.
PRELOAD_SMALL_SOURCES += \
	%D%/init.c
