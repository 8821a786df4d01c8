/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof diff`: compares functions of two sides, each of one file or several. diff.c has options
 * and files, diff_rows.c sums and rows, diff_test.c the test of significance, diff_verdict.c the
 * gate, diff_print.c and diff_print.c the output.
 */
#ifndef CT_DIFF_H
#define CT_DIFF_H

#include "flame/flame.h"

enum { CT_BEFORE, CT_AFTER };
/* CT_OWN: the value where this is the innermost function of the user's own code (report.h). */
enum ct_diff_value { CT_FLAT, CT_CUM, CT_OWN };
#define CT_DIFF_VALUES 3

/* One number of both sides. */
struct ct_diff_figure {
	double mean[2], spread[2]; /* spread: standard deviation over the files of a side */
	double p; /* probability of such a difference if nothing changed; NAN: unknown, with one
		     file per side */
	double chance; /* largest difference of means that sampling alone may make; NAN: unknown */
	int64_t samples; /* of one side, if the other side has none; 0: not counted */
};

struct ct_diff_row {
	uint32_t frame;
	struct ct_diff_figure figure[CT_DIFF_VALUES]; /* by enum ct_diff_value */
	bool regressed;
};

/* One file: the value of each frame alone and with callees, and the number of samples of each. */
struct ct_diff_file {
	const char *name;
	unsigned side;
	double total;
	double scale;  /* -normalize: factor of all values; else 1 */
	double sample; /* average that one sample represents; NAN: unknown */
	bool by_time;  /* samples were taken at times, so their sum is exact; else they are
			  independent */
	double *sums[CT_DIFF_VALUES];
	int64_t *samples[CT_DIFF_VALUES];
	size_t frame_count;
};

struct ct_diff_limits {
	double fail_over; /* limit of a change; below 0: no change fails */
	double min;	  /* share of the total that a function must have on one side */
	double alpha;
	bool by_function; /* each function may fail; else only the total */
	bool by_cum;	  /* functions fail by their value with callees */
	bool normalize;
	const char *ignore;
	const char *own; /* -own: NULL = the program and the libraries in its directory; "" = no
			    such table */
	bool all;	 /* show also changes that chance explains */
	long rows;
};

/* CT_BY_CHANCE: above the limit, but chance explains it. CT_TOO_FEW: so few samples that one more
 * would decide. */
enum ct_diff_verdict { CT_FINE, CT_REGRESSION, CT_BY_CHANCE, CT_TOO_FEW };

struct ct_diff {
	struct ct_diff_limits limits;
	struct ct_frames frames;
	struct ct_diff_file *files;
	size_t file_count, files_of[2];
	const char *type, *unit;
	struct ct_diff_figure total;
	struct ct_diff_row *rows;
	size_t row_count;
	enum ct_diff_verdict verdict;
	size_t functions_judged, functions_regressed;
	size_t functions_by_chance; /* number of functions above the limit, but not more than chance
				       explains */
	double telling; /* the smallest difference of totals with p below alpha at their spread;
			   NAN: unknown, with one file per side */
	bool has_own;	/* some own code has other values than CT_FLAT */
};

/* Adds a file's functions. Returns 0, or -1 after a message: the file is empty or has negative
 * values. */
int ct_diff_rows_take(struct ct_diff *d, const struct ct_profile *p, size_t type, const char *name,
		      unsigned side);
/* Makes the rows of all files. Returns 0, or -1 after a message if -ignore is no
 * expression. */
int ct_diff_rows_make(struct ct_diff *d);
void ct_diff_rows_release(struct ct_diff *d);

/* Returns the indices of rows, the largest change of VALUE first. The caller frees them. */
uint32_t *ct_diff_rows_order(const struct ct_diff *d, enum ct_diff_value value);

/* Welch's t-test, two-sided: returns the probability of such a difference of means (or a larger
 * one) if there is no real difference. NAN if a side has fewer than two values. */
double ct_diff_test_welch(const double *a, size_t a_count, const double *b, size_t b_count);
/* Returns the smallest difference of means that has a probability below ALPHA, with the variances
 * that A and B have. NAN as above. */
double ct_diff_test_telling(const double *a, size_t a_count, const double *b, size_t b_count,
			    double alpha);
double ct_diff_test_mean(const double *values, size_t count);
double ct_diff_test_spread(const double *values, size_t count);
/* Returns what one sample of P's values of TYPE represents, in their unit; NAN for counts of events
 * and for delays, where it is unknown. */
double ct_diff_test_sample(const struct ct_profile *p, size_t type);
/* Returns the variance of a file's VALUE that sampling causes. */
double ct_diff_test_variance(const struct ct_diff_file *file, double value);
/* Returns the largest difference of means that sampling may cause, from the variances of both
 * means. NAN if one of these is. */
double ct_diff_test_chance(const double variance[2]);
/* May sampling explain the difference? False if p tells more. */
bool ct_diff_test_by_chance(const struct ct_diff_figure *f);

/* Judges the total, or the rows. */
void ct_diff_verdict_judge(struct ct_diff *d);
/* Does the function have the share MIN on a side? */
bool ct_diff_verdict_is_worth(const struct ct_diff *d, const struct ct_diff_figure *f);
/* "fine", "REGRESSION" or "undecided" */
const char *ct_diff_verdict_word(const struct ct_diff *d);
/* Returns one line about the verdict, which the caller frees; NULL without a limit. */
char *ct_diff_verdict_text(const struct ct_diff *d);

void ct_diff_print_text(const struct ct_diff *d);
/* From now on, ct_diff_print_text is short, for "cprof run". TOTAL: it has no rows. */
void ct_diff_print_for_run(bool total);
void ct_diff_print_markdown(const struct ct_diff *d);
void ct_diff_print_json(const struct ct_diff *d);

/* Returns "+4.2%", "0 -> 12 samples", "new" or "+4.2% chance?", which the caller frees. */
char *ct_diff_rows_change(const struct ct_diff_figure *f);

extern const struct ct_verb ct_verb_diff;

#endif
