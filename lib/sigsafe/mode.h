/* The kinds of profile. Each is collected, named and written by itself; several may be on at once.
 */
#ifndef CP_MODE_IDS_H
#define CP_MODE_IDS_H

enum cp_mode {
	CP_MODE_CPU,
	CP_MODE_WALL,
	CP_MODE_HEAP,
	CP_MODE_LOCK,
	/* Companions: further views of one of the above, in a file beside its file. */
	CP_MODE_PEAK,	 /* NAME.peak.EXT: the heap at its high water */
	CP_MODE_MMAP,	 /* NAME.mmap.EXT: mappings that the program makes itself */
	CP_MODE_HOLDERS, /* NAME.holders.EXT: who held the locks that others waited for */
	CP_MODES
};

/* Those with a variable, and an options field, of their own. */
#define CP_MAIN_MODES 4

#endif
