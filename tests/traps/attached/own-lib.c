/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

void *lib_allocate(void);
void lib_free(void *p);

void *lib_allocate(void)
{
	return malloc(10);
}

void lib_free(void *p)
{
	free(p);
}
