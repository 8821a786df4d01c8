/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader's modules in place of /proc/self/maps, where /proc is not mounted.
 *
 * The loader's list can't be read when a profile is written, because a thread that holds the
 * loader's lock may be waiting for libcprof. So the list is taken once, when the session starts.
 */
#ifndef CP_LOADER_MAPS_H
#define CP_LOADER_MAPS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment of a module. */
struct cp_loader_map {
	uint64_t start, limit, offset, device, inode;
	bool executable;
	const char *path;
};

/* Forget the list. No reader may be left. */
void cp_loader_maps_clear(void);
/* Add a module to the list: for dl_iterate_phdr. Ordinary context. */
int cp_loader_maps_add(struct dl_phdr_info *info, size_t size, void *unused);
/* Return the segment number I, in the order of addresses; NULL after the last one. Any context. */
const struct cp_loader_map *cp_loader_maps_at(size_t i);

#endif
