/* SPDX-License-Identifier: BSD-3-Clause */
/* The own functions of a sample's stack, without the library functions between and below them. */
#ifndef CT_OWN_STACK_H
#define CT_OWN_STACK_H

#include "core/own.h"
#include "core/table.h"

/* Returns the innermost own function of sample I, or the innermost function if no own one is on the
 * stack. */
const char *ct_own_stack_function(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Returns "parse < load < main": the own functions, the innermost first, or the innermost function
 * if no own one is on the stack. The caller frees the result. */
char *ct_own_stack_text(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Returns the same of the thread that ended the wait of sample I, which is before "[woken by]". If
 * no thread did or none is known, returns the frame that says so. The caller frees the result. */
char *ct_own_stack_waker(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Returns the innermost own function of the thread whose wait sample I is, which is below
 * "[woken by]" or the frame in its place. */
const char *ct_own_stack_waiter(struct ct_own *o, const struct ct_profile *p, size_t i);
/* Stores the names of sample I's innermost frames up to the first own one, which is not included;
 * at most MOST. */
size_t ct_own_stack_called(struct ct_own *o, const struct ct_profile *p, size_t i,
			   const char **names, size_t most);

/* Sums of values by name. */
struct ct_sum {
	char *name;
	int64_t value, count, longest;
};

struct ct_sums {
	struct ct_sum *list;
	size_t count, room;
	struct ct_table table;
};

/* Returns the sum called NAME, which is added if it is new. Valid until the next call. */
struct ct_sum *ct_own_stack_sum(struct ct_sums *s, const char *name);
/* Sorts the sums, the largest first. None can be added afterwards. */
void ct_own_stack_sort(struct ct_sums *s);
void ct_own_stack_release(struct ct_sums *s);

/* Returns a text label of sample I, or NULL. */
const char *ct_own_stack_label(const struct ct_profile *p, size_t i, const char *key);
/* Returns a numeric label of sample I, or NONE. */
int64_t ct_own_stack_number(const struct ct_profile *p, size_t i, const char *key, int64_t none);

#endif
