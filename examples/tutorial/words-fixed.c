/* SPDX-License-Identifier: BSD-3-Clause */
/* words-hash.c without its leak, and with a table for each thread in place of the lock: the end of
 * docs/tutorial.md. */
#include <ctype.h>
#include <string.h>

#include "text.h"

#define BUCKETS 4096

struct word {
	struct word *next;
	unsigned count;
	char text[];
};

struct table {
	struct word *words[BUCKETS];
	unsigned different;
};

static struct table all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void lower(const char *from, char copy[WORD_MAX])
{
	size_t n = 0;

	for (; from[n] && n < WORD_MAX - 1; n++)
		copy[n] = (char)tolower((unsigned char)from[n]);
	copy[n] = '\0';
}

static struct word **bucket(struct table *t, const char *key)
{
	unsigned hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return &t->words[hash % BUCKETS];
}

__attribute__((noinline)) static void add(struct table *t, const char *key, unsigned count)
{
	struct word **first = bucket(t, key), *w = *first;

	while (w && strcmp(w->text, key) != 0)
		w = w->next;
	if (!w && (w = calloc(1, sizeof(*w) + strlen(key) + 1))) {
		strcpy(w->text, key);
		w->next = *first;
		*first = w;
		t->different++;
	}
	if (w)
		w->count += count;
}

/* Adds the words of T to those of all threads, and frees them. */
__attribute__((noinline)) static void merge(struct table *t)
{
	pthread_mutex_lock(&all_lock);
	for (int i = 0; i < BUCKETS; i++)
		while (t->words[i]) {
			struct word *w = t->words[i];

			t->words[i] = w->next;
			add(&all, w->text, w->count);
			free(w);
		}
	pthread_mutex_unlock(&all_lock);
}

static void *count_part(void *part)
{
	char(*word)[sizeof(text[0])] = part;
	struct table *own = calloc(1, sizeof(*own));
	char key[WORD_MAX];

	if (!own)
		exit(1);
	for (int i = 0; i < WORDS / THREADS; i++) {
		lower(word[i], key);
		add(own, key, 1);
	}
	merge(own);
	free(own);
	return NULL;
}

int main(void)
{
	write_text();
	run_threads(count_part);
	printf("%d words, %u different ones\n", WORDS, all.different);
	return 0;
}
