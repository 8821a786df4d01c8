/* What spans share with labels. */
#ifndef CP_LABEL_API_H
#define CP_LABEL_API_H

#include <stdint.h>

/* The calling thread is in span SERIAL from now on; what it was in before. Ordinary context. */
uint32_t cp_label_api_span(uint32_t serial);

#endif
