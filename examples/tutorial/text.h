/* SPDX-License-Identifier: BSD-3-Clause */
/* The text whose words are counted, and the threads that share it; see docs/tutorial.md. */
#ifndef TEXT_H
#define TEXT_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define WORDS 240000
#define DIFFERENT 3000
#define WORD_MAX 256

static char text[WORDS][12];

/* The same words each time. */
static void write_text(void)
{
	unsigned state = 1;

	for (int i = 0; i < WORDS; i++) {
		state = state * 1103515245 + 12345;
		snprintf(text[i], sizeof(text[i]), "%cord%u", state & 1 << 20 ? 'W' : 'w',
			 (state >> 8) % DIFFERENT);
	}
}

/* Calls WORK(part) in a thread for each part of the text and waits for all. */
static void run_threads(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, text[i * (WORDS / THREADS)]))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#endif
