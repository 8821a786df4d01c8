/* SPDX-License-Identifier: BSD-3-Clause */
/* For musl, whose stdout and stderr are constants: variables in their places, which the guard sets
 * (out_guard.c), and the functions that print to stdout. Each file of the tool includes it first,
 * by an option of the compiler. */
#ifndef CP_CORE_OUT_MUSL_H
#define CP_CORE_OUT_MUSL_H

#include <stdio.h>

extern FILE *ct_out_guarded[2];

#undef stdout
#undef stderr
#define stdout (ct_out_guarded[0])
#define stderr (ct_out_guarded[1])
#define printf(...) fprintf(stdout, __VA_ARGS__)
#define puts(s) fprintf(stdout, "%s\n", (s))
#define putchar(c) fputc((c), stdout)

#endif
