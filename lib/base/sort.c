/* SPDX-License-Identifier: BSD-3-Clause */
/* Heap sort and binary search; see base.h. */
#include "base/base.h"

#include <string.h>

static uint64_t key_of(const char *items, size_t size, size_t i)
{
	uint64_t key;

	memcpy(&key, items + i * size, sizeof(key));
	return key;
}

/* Swaps 8 bytes at a time: a key has 8 bytes, and most items are a few times that size. */
static void swap(char *a, char *b, size_t size)
{
	size_t i = 0;

	for (uint64_t x, y; size - i >= sizeof(x); i += sizeof(x)) {
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		memcpy(a + i, &y, sizeof(y));
		memcpy(b + i, &x, sizeof(x));
	}
	for (; i < size; i++) {
		char c = a[i];

		a[i] = b[i];
		b[i] = c;
	}
}

static void sift_down(char *items, size_t size, size_t root, size_t n)
{
	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && key_of(items, size, child) < key_of(items, size, child + 1))
			child++;
		if (key_of(items, size, root) >= key_of(items, size, child))
			return;
		swap(items + root * size, items + child * size, size);
	}
}

void cp_sort(void *base, size_t n, size_t size)
{
	char *items = base;
	size_t i = 1;

	while (i < n && key_of(items, size, i - 1) <= key_of(items, size, i))
		i++;
	if (i >= n)
		return;
	for (i = n / 2; i-- > 0;)
		sift_down(items, size, i, n);
	for (i = n - 1; i > 0; i--) {
		swap(items, items + i * size, size);
		sift_down(items, size, 0, i);
	}
}

size_t cp_sort_first(const void *items, size_t n, size_t size, uint64_t key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (key_of(items, size, middle) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
