# SPDX-License-Identifier: BSD-3-Clause
TOOL_SOURCES += \
	%D%/serve.c \
	%D%/serve_exchange.c \
	%D%/serve_helper.c \
	%D%/serve_http.c \
	%D%/serve_jobs.c \
	%D%/serve_list.c \
	%D%/serve_listen.c \
	%D%/serve_metrics.c \
	%D%/serve_process.c \
	%D%/serve_profile.c \
	%D%/serve_route.c \
	%D%/serve_text.c \
	%D%/serve_threads.c \
	%D%/serve_windows.c
