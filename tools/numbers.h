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

/* The value that is nearest to V in an int64; 0 for NaN. */
int64_t ct_clamp(double v);
/* VALUE * RATIO, rounded half away from zero. */
int64_t ct_scale_value(int64_t value, double ratio);

/* A value in another unit. TO is a unit ("ms", "megabytes"), or "auto" or "minimum": the
 * biggest unit in which it is at least 1. Units that no scale knows stay as they are.
 * UNIT gets the short name, "" for counts. */
double ct_scale(int64_t value, const char *from, const char *to, const char **unit);

#define CT_NUMBER_ROOM 64
/* "1.50s", "512kB", "0"; at most two decimals. Returns TO, which has CT_NUMBER_ROOM bytes. */
char *ct_format(char *to, int64_t value, const char *from, const char *unit);
/* "12.35%", " 0.05%", "  100%": six characters unless tiny. */
char *ct_percent(char *to, int64_t value, int64_t total);

/* Can values in A be added to values in B after scaling? */
int ct_units_compatible(const char *a, const char *b);

#endif
