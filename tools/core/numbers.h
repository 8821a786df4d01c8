/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, shares and units of sample values, written as pprof writes them.
 *
 * Values come from files, so nothing here may overflow into undefined behaviour: sums wrap.
 */
#ifndef CT_NUMBERS_H
#define CT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t ct_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t ct_negate(int64_t a)
{
	return (int64_t) - (uint64_t)a;
}

static inline int64_t ct_abs(int64_t a)
{
	return a < 0 ? ct_negate(a) : a;
}

/* B is not 0. */
static inline int64_t ct_divide(int64_t a, int64_t b)
{
	return b == -1 ? ct_negate(a) : a / b;
}

/* Returns the int64 nearest to V; 0 for NaN. */
int64_t ct_numbers_clamp(double v);
/* Returns VALUE * RATIO, rounded half away from zero. */
int64_t ct_numbers_scale_value(int64_t value, double ratio);

/* Returns VALUE in another unit. TO is a unit ("ms", "megabytes"), or "auto" or "minimum": the
 * biggest unit in which the value is at least 1. A value in an unknown unit stays as it is. Sets
 * UNIT to the unit's short name, "" for counts. */
double ct_numbers_scale(int64_t value, const char *from, const char *to, const char **unit);

#define CT_NUMBER_ROOM 64
/* Writes "1.50s", "512kB", "0", with at most two decimals. Returns TO, which has CT_NUMBER_ROOM
 * bytes. */
char *ct_numbers_format(char *to, int64_t value, const char *from, const char *unit);
/* Writes "12.35%", " 0.05%", "  100%": six characters, except for tiny shares. */
char *ct_numbers_percent(char *to, int64_t value, int64_t total);

/* Can values in A be added to values in B after scaling? */
int ct_numbers_units_compatible(const char *a, const char *b);

#endif
