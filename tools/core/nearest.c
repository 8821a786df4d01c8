/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances between words; see core.h. */
#include "core/core.h"

#include <string.h>

#define LETTERS_MAX 32

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Computes the optimal string alignment, with one row for each letter of A. */
size_t ct_nearest_distance(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b), rows[3][LETTERS_MAX + 1];

	if (m > LETTERS_MAX || n > LETTERS_MAX)
		return m > n ? m : n;
	for (size_t k = 0; k <= n; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= m; i++) {
		size_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= n; k++) {
			row[k] = lesser(lesser(before[k], row[k - 1]) + 1,
					before[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = lesser(row[k], two[k - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

/* A third of the letters may be wrong. A word that begins with WORD is near, too. */
static bool is_near(const char *word, const char *other)
{
	size_t n = strlen(word);

	return ct_nearest_distance(word, other) <= (n + 1) / 3 ||
	       (n > 1 && !strncmp(word, other, n));
}

const char *ct_nearest(const char *word, const char *best, const char *other)
{
	if (!is_near(word, other))
		return best;
	if (best && ct_nearest_distance(word, best) <= ct_nearest_distance(word, other))
		return best;
	return other;
}
