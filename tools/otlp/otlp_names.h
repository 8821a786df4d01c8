/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that differ between pprof's labels and OTLP's attributes. Both directions return their
 * argument if the other side has the same name. */
#ifndef CT_OTLP_NAMES_H
#define CT_OTLP_NAMES_H

/* "thread" and "thread.name" */
const char *ct_otlp_names_key(const char *label);
const char *ct_otlp_names_label(const char *key);
/* "bytes" and UCUM's "By" */
const char *ct_otlp_names_ucum(const char *unit);
const char *ct_otlp_names_unit(const char *ucum);

#endif
