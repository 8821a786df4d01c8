/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames as people see them: a function (or a line or address of it), from one or several
 * profiles. Used by flame, folded, convert and diff.
 *
 * Text of all profiles is brought into one pool, so that equal names have equal numbers.
 */
#ifndef CT_FLAME_FRAMES_H
#define CT_FLAME_FRAMES_H

#include "flame/flame_map.h"
#include "core/model.h"

enum ct_frame_kind {
	CT_FRAME_PROGRAM, /* the program, and libraries in its directory */
	CT_FRAME_KERNEL,
	CT_FRAME_JIT,
	CT_FRAME_MARK,	  /* "[truncated]" and the like, which are no code */
	CT_FRAME_RUNTIME, /* libc, the C++ library, allocators; also their templates compiled into
			     other modules */
	CT_FRAME_LIBRARY
};

/* The property that tells frames of one function, file and module apart, if any. */
enum ct_frames_by { CT_BY_FUNCTION, CT_BY_LINE, CT_BY_ADDRESS };

struct ct_frame {
	uint32_t name, file, module; /* strings in the pool */
	uint32_t line, last_line;    /* its line, or the range of lines seen; 0 = unknown */
	enum ct_frame_kind kind;
	bool inlined; /* of its first occurrence */
};

struct ct_frames {
	struct ct_profile *pool; /* strings and label sets */
	struct ct_frame *list;
	size_t count, room;
	enum ct_frames_by by;
	bool names_only; /* frames of equal names are one, whatever their file, module or inlining
			  */
	/* A frame is a name in a module, whatever its file and inlining. All programs are one
	 * module, and all versions of a library are one. So two builds of the same sources can be
	 * compared. */
	bool builds_are_one;
	struct ct_flame_map map;
};

/* Turns the lines and locations of one profile into frames. */
struct ct_frames_of {
	const struct ct_profile *profile;
	uint32_t *line;	    /* by line */
	uint32_t *location; /* by location, for locations without lines */
	bool marks_inlined; /* stacks carry CT_FRAME_INLINED */
};

void ct_flame_frames_init(struct ct_frames *frames, enum ct_frames_by by);
void ct_flame_frames_release(struct ct_frames *frames);
/* Adds a frame that is no code, such as a thread as root. */
uint32_t ct_flame_frames_named(struct ct_frames *frames, const char *name);

void ct_flame_frames_take(struct ct_frames *frames, const struct ct_profile *p,
			  struct ct_frames_of *of);
void ct_flame_frames_of_release(struct ct_frames_of *of);

/* Marks an inlined frame in a stack if the frames themselves can't say it. */
#define CT_FRAME_INLINED 0x80000000u

/* Builds the stack of a sample, root first, inlined frames after their caller. Returns its length.
 * STACK is kept in ROOM between calls. */
size_t ct_flame_frames_stack(const struct ct_frames_of *of, const struct ct_sample *s,
			     uint32_t **stack, size_t *room);

/* Returns the value of a text label ("thread"), or NULL. */
const char *ct_flame_frames_label(const struct ct_profile *p, const struct ct_sample *s,
				  const char *key);

static inline const char *ct_frame_text(const struct ct_frames *frames, uint32_t string)
{
	return ct_text(frames->pool, string);
}

static inline const char *ct_frame_name(const struct ct_frames *frames, uint32_t frame)
{
	return ct_text(frames->pool, frames->list[frame].name);
}

#endif
