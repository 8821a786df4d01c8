/* Frames as people see them: a function (or a line or address of it), from one or several
 * profiles. Used by flame, folded, convert and diff.
 *
 * Text of all profiles is brought into one pool, so that equal names have equal numbers.
 */
#ifndef CT_FLAME_FRAMES_H
#define CT_FLAME_FRAMES_H

#include "flame_map.h"
#include "profile.h"

enum ct_frame_kind { CT_FRAME_USER, CT_FRAME_KERNEL, CT_FRAME_JIT, CT_FRAME_MARK };

/* What makes two frames different, beside function, file and module. */
enum ct_frames_by { CT_BY_FUNCTION, CT_BY_LINE, CT_BY_ADDRESS };

struct ct_frame {
	uint32_t name, file, module; /* strings of the pool */
	uint32_t line, last_line;    /* where it begins, or the range seen; 0 unknown */
	enum ct_frame_kind kind;
	bool inlined;
};

struct ct_frames {
	struct ct_profile *pool; /* strings and label sets */
	struct ct_frame *list;
	size_t count, room;
	enum ct_frames_by by;
	bool names_only; /* equal names are one frame, whatever file, module or inlining */
	struct ct_flame_map map;
};

/* One profile's lines and locations as frames. */
struct ct_frames_of {
	const struct ct_profile *profile;
	uint32_t *line;	    /* by line */
	uint32_t *location; /* by location, where it has no lines */
};

void ct_frames_init(struct ct_frames *frames, enum ct_frames_by by);
void ct_frames_release(struct ct_frames *frames);
/* A frame that is no code: a thread as root. */
uint32_t ct_frames_named(struct ct_frames *frames, const char *name);

void ct_frames_take(struct ct_frames *frames, const struct ct_profile *p, struct ct_frames_of *of);
void ct_frames_of_release(struct ct_frames_of *of);

/* The stack of a sample, root first, inlined frames after their caller. Returns its length;
 * STACK is kept in ROOM between calls. */
size_t ct_frames_stack(const struct ct_frames_of *of, const struct ct_sample *s, uint32_t **stack,
		       size_t *room);

/* The value of a text label ("thread"), or NULL. */
const char *ct_frames_label(const struct ct_profile *p, const struct ct_sample *s, const char *key);

static inline const char *ct_frame_text(const struct ct_frames *frames, uint32_t string)
{
	return ct_text(frames->pool, string);
}

static inline const char *ct_frame_name(const struct ct_frames *frames, uint32_t frame)
{
	return ct_text(frames->pool, frames->list[frame].name);
}

#endif
