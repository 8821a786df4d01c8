/* SPDX-License-Identifier: BSD-3-Clause */
/* words.c with a hash table in place of the list: the first step of docs/tutorial.md. */
#include <ctype.h>
#include <string.h>

#include "text.h"

#define BUCKETS 4096

struct word {
	struct word *next;
	char *text;
	unsigned count;
};

static struct word *words[BUCKETS];
static unsigned different;
static pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static char *lower(const char *from)
{
	char *copy = malloc(WORD_MAX);
	size_t n = 0;

	if (!copy)
		exit(1);
	for (; from[n] && n < WORD_MAX - 1; n++)
		copy[n] = (char)tolower((unsigned char)from[n]);
	copy[n] = '\0';
	return copy;
}

static struct word **bucket(const char *key)
{
	unsigned hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return &words[hash % BUCKETS];
}

__attribute__((noinline)) static struct word *find(const char *key)
{
	struct word *w = *bucket(key);

	while (w && strcmp(w->text, key) != 0)
		w = w->next;
	return w;
}

__attribute__((noinline)) static void count_word(const char *text)
{
	char *key = lower(text);
	struct word *w;

	pthread_mutex_lock(&words_lock);
	w = find(key);
	if (!w && (w = calloc(1, sizeof(*w)))) {
		w->text = key;
		w->next = *bucket(key);
		*bucket(key) = w;
		different++;
	}
	if (w)
		w->count++;
	pthread_mutex_unlock(&words_lock);
}

static void *count_part(void *part)
{
	char(*word)[sizeof(text[0])] = part;

	for (int i = 0; i < WORDS / THREADS; i++)
		count_word(word[i]);
	return NULL;
}

int main(void)
{
	write_text();
	run_threads(count_part);
	printf("%d words, %u different ones\n", WORDS, different);
	return 0;
}
