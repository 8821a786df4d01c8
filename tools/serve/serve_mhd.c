/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libmicrohttpd; see serve_mhd.h. */
#include "serve/serve_mhd.h"

#include <dlfcn.h>
#include <string.h>

struct ct_mhd ct_mhd;

#define FUNCTION(name)                                                                             \
	{                                                                                          \
		"MHD_" #name, &ct_mhd.name                                                         \
	}

bool ct_serve_mhd_load(void)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = { FUNCTION(start_daemon),
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
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f)
			return false;
		memcpy(functions[i].to, &f, sizeof(f));
	}
	return true;
}
