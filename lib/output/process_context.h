/* SPDX-License-Identifier: BSD-3-Clause */
/* The resource that an OpenTelemetry SDK publishes for the process (OTEP 4719): a mapping with a
 * header that points to a protobuf message. Everything is copied through the kernel and checked. */
#ifndef CP_PROCESS_CONTEXT_H
#define CP_PROCESS_CONTEXT_H

#include <stdint.h>

typedef void cp_process_context_each(void *arg, const char *key, const char *value);

/* Calls EACH for every attribute of the resource that is a text or a whole number; AT is where the
 * mapping begins, 0: there is none. Calls nothing if the context is not valid, is being changed, or
 * has more than 4 KiB. Under the collector's lock. */
void cp_process_context_read(uint64_t at, cp_process_context_each *each, void *arg);

#endif
