/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the label functions that spans use. */
#ifndef CP_LABEL_API_H
#define CP_LABEL_API_H

#include <stdint.h>

/* Puts the calling thread into span SERIAL. Returns the serial number of the span that the thread
 * was in. Ordinary context. */
uint32_t cp_label_api_span(uint32_t serial);

#endif
