/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libmicrohttpd; see serve.h. */
#include "serve/serve.h"

#include "core/core.h"

struct ct_mhd ct_mhd;

#define FUNCTION(name)                                                                             \
	{                                                                                          \
		"MHD_" #name, &ct_mhd.name                                                         \
	}

bool ct_serve_mhd_load(void)
{
	const struct ct_library_function functions[] = { FUNCTION(start_daemon),
							 FUNCTION(stop_daemon),
							 FUNCTION(run),
							 FUNCTION(get_timeout),
							 FUNCTION(get_daemon_info),
							 FUNCTION(get_connection_info),
							 FUNCTION(lookup_connection_value),
							 FUNCTION(suspend_connection),
							 FUNCTION(resume_connection),
							 FUNCTION(create_response_from_fd),
							 FUNCTION(create_response_from_buffer),
							 FUNCTION(add_response_header),
							 FUNCTION(queue_response),
							 FUNCTION(destroy_response) };

	return ct_library_load("libmicrohttpd.so.12", functions,
			       sizeof(functions) / sizeof(*functions));
}
