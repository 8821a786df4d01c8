/* Text files that flame, folded and convert write: as a whole or not at all, mode 0600 like
 * profiles (target.h): names, paths and labels are in them. */
#ifndef CT_FLAME_FILE_H
#define CT_FLAME_FILE_H

#include <stdio.h>

typedef void ct_flame_writer(const void *what, FILE *to);

/* WRITE writes WHAT to PATH; NULL or "-" is stdout. CT_OK, or CT_FAILED and it is said why. */
int ct_flame_file(const char *path, ct_flame_writer *write, const void *what);

#endif
