/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognizes files of other kinds by their first bytes. */
#ifndef CT_FOREIGN_H
#define CT_FOREIGN_H

#include <stddef.h>

/* What can be given. */
#define CT_FOREIGN_READS "pprof's format, plain or packed by gzip, and OTLP's"

/* Describes a file that begins with these SIZE bytes and is no profile: what it is, and how to get
 * a pprof profile from it, as "but a zip archive: ...". TEXT becomes "" if the kind is unknown. */
void ct_foreign_describe(char *text, size_t room, const unsigned char *begin, size_t size);

#endif
