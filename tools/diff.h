/* `cprof diff`: functions of two sides, each of one file or several. The parts: diff.c options
 * and files, diff_rows.c sums and rows, diff_test.c the test of significance, diff_print.c and
 * diff_json.c what is said.
 */
#ifndef CT_DIFF_H
#define CT_DIFF_H

#include <stdio.h>

#include "flame_frames.h"

enum { CT_BEFORE, CT_AFTER };
enum ct_diff_value { CT_FLAT, CT_CUM };

/* One number of both sides. */
struct ct_diff_figure {
	double mean[2], spread[2]; /* spread: standard deviation of the files of a side */
	double p;		   /* of no difference; NAN: can't be known from one file a side */
	int64_t samples; /* of the side after, when there is nothing before it, or inversely */
};

struct ct_diff_row {
	uint32_t frame;
	struct ct_diff_figure figure[2]; /* by enum ct_diff_value */
	bool regressed;
};

/* One file: by frame its own value and that with callees, and how many samples they are of. */
struct ct_diff_file {
	const char *name;
	unsigned side;
	double total;
	double *sums[2];
	int64_t *samples[2];
	size_t frame_count;
};

struct ct_diff_limits {
	double fail_over; /* below 0: nothing fails */
	double min;	  /* share of the total that a function has on either side */
	double alpha;
	bool by_function; /* else the total alone */
	bool by_cum;	  /* functions by their value with callees */
	bool normalize;
	const char *ignore;
	long rows;
};

struct ct_diff {
	struct ct_diff_limits limits;
	struct ct_frames frames;
	struct ct_diff_file *files;
	size_t file_count, files_of[2];
	const char *type, *unit, *shown_unit; /* shown: values are printed in it */
	struct ct_diff_figure total;
	struct ct_diff_row *rows;
	size_t row_count;
	bool regressed, total_regressed;
};

/* Adds a file's functions. 0, or -1 and it was said why: nothing in it, values below zero. */
int ct_diff_take(struct ct_diff *d, const struct ct_profile *p, size_t type, const char *name,
		 unsigned side);
/* Rows and verdict of all files. 0, or -1: -ignore is no expression, and it was said. */
int ct_diff_judge(struct ct_diff *d);
void ct_diff_release(struct ct_diff *d);

/* Indices of rows, the largest change of VALUE first; to be freed. */
uint32_t *ct_diff_order(const struct ct_diff *d, enum ct_diff_value value);

/* Welch's t-test, two-sided: the chance of such a difference of means (or a larger one) when
 * there is none. NAN when a side has fewer than two values. */
double ct_diff_welch(const double *a, size_t a_count, const double *b, size_t b_count);
double ct_diff_mean(const double *values, size_t count);
double ct_diff_spread(const double *values, size_t count);

void ct_diff_text(const struct ct_diff *d);
void ct_diff_markdown(const struct ct_diff *d);
void ct_diff_json(const struct ct_diff *d);

/* "+4.2%", "0 -> 12 samples"; to be freed. */
char *ct_diff_change(const struct ct_diff_figure *f);

#endif
