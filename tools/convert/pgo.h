/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces for the formats by which compilers and linkers take a profile, by the file that
 * implements them. */
#ifndef CT_PGO_H
#define CT_PGO_H

#include "convert/convert.h"

/* pgo.c
 *
 * The samples of one binary, with what its debug information or symbols say of each address.
 *
 * Read from the binary again and not from the profile's lines: a profile doesn't have
 * discriminators, and its names are for people.
 */

struct ct_pgo_frame {
	uint32_t function; /* string of NAMES, without what marks parts and copies (".cold") */
	uint16_t line;	   /* counted from the function's first */
	uint16_t discriminator;
};

struct ct_pgo_place {
	uint64_t address;	     /* as linked */
	uint64_t self;		     /* amount of the samples whose leaf it is */
	struct ct_pgo_frame *frames; /* the physical function first, then inlined calls */
	unsigned count;		     /* 0: there are no lines */
	uint32_t symbol;	     /* string of NAMES; 0: not asked for, or not known */
	uint64_t offset;	     /* of the address in the symbol */
};

/* The samples whose leaf is at TO, called at FROM; both are places. */
struct ct_pgo_call {
	uint32_t from, to;
	uint64_t samples;
};

struct ct_pgo {
	const char *path, *build_id;
	struct ct_profile *names; /* only its strings are used */
	struct ct_pgo_place *places;
	struct ct_pgo_call *calls; /* by FROM */
	size_t place_count, call_count, call_room;
	uint64_t samples, named; /* in the binary; of these, with a line */
	bool has_discriminators;
};

/* Reads the samples of P in BINARY (the name or path of a module of P; NULL: the program) by the
 * values of TYPE. NEEDS says what is read of each address. Returns false after a message on stderr:
 * the profile has no such module, or the file is another build, or lacks what is needed. Says on
 * stderr what else is missing. */
enum ct_pgo_needs {
	CT_PGO_NUMBERED_SYMBOLS = 1, /* local ones as NAME/1, NAME/2 by address */
	CT_PGO_SYMBOLS,
	CT_PGO_LINES,
	CT_PGO_LLVM_LINES /* with discriminators of LLVM */
};
bool ct_pgo_open(struct ct_pgo *pgo, const struct ct_profile *p, size_t type, const char *binary,
		 enum ct_pgo_needs needs);
void ct_pgo_close(struct ct_pgo *pgo);
/* Sorts COUNT calls by FROM and TO, and sums up equal ones. Returns how many are left. */
size_t ct_pgo_join(struct ct_pgo_call *calls, size_t count);

/* Writers; each takes a struct ct_convert. BOLT's profile without branch records
 * (DataReader.h, "no_lbr"): symbol, offset, time. */
void ct_pgo_bolt(const void *what, FILE *to);
/* Calls for ld.lld's --call-graph-ordering-file: caller, callee, samples. */
void ct_pgo_order(const void *what, FILE *to);

/* pgo_tree.c
 *
 * Sampled profiles for -fprofile-sample-use (clang, rustc) and -fauto-profile (GCC): for each
 * function counts by line, and below the line of a call the function that was inlined there.
 *
 * The formats are those of LLVM's SampleProfReader.h (text) and of GCC's auto-profile.cc (version
 * 2, GCC 12 to 14). A line's count is that of its most sampled instruction: each runs as often as
 * the line does, but waits differently.
 */
void ct_pgo_tree_llvm(const void *what, FILE *to);
void ct_pgo_tree_gcc(const void *what, FILE *to);

#endif
