/* SPDX-License-Identifier: BSD-3-Clause */
/* Static probes; see heap_signal.h. The notes have SystemTap's format, version 3. */
#include "modes/heap/signal/heap_signal.h"

/* The tools find the counters by the notes, and add to them. */
__attribute__((section(".probes"))) volatile uint16_t cp_usdt_alloc_semaphore;
__attribute__((section(".probes"))) volatile uint16_t cp_usdt_free_semaphore;

/* clang-format off */
/* The note: sizes of its name and contents, its type (3), its name; then three addresses (the nop, a
 * byte by whose address tools see that the file was prelinked, the counter) and three texts. An
 * argument is "size@place", a place being written as in assembler. */
#define NOTE(name, semaphore, arguments) \
	"990: nop\n" \
	".pushsection .note.stapsdt, \"\", \"note\"\n" \
	".balign 4\n" \
	".4byte 992f - 991f, 994f - 993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: .8byte 990b, cp_usdt_base, " semaphore "\n" \
	".asciz \"otel_memory\"\n" \
	".asciz \"" name "\"\n" \
	".asciz \"" arguments "\"\n" \
	"994: .balign 4\n" \
	".popsection\n"
/* clang-format on */

__attribute__((section(".stapsdt.base"), used, visibility("hidden"))) const char cp_usdt_base = 0;

__attribute__((noinline)) void cp_usdt_alloc_fire(uint64_t p, uint64_t size,
						  uint64_t weighted_bytes)
{
	__asm__ volatile(NOTE("alloc", "cp_usdt_alloc_semaphore", "8@%0 8@%1 8@%2")
			 :
			 : "r"(p), "r"(size), "r"(weighted_bytes)
			 : "memory");
}

__attribute__((noinline)) void cp_usdt_free_fire(uint64_t p)
{
	__asm__ volatile(NOTE("free", "cp_usdt_free_semaphore", "8@%0") : : "r"(p) : "memory");
}
