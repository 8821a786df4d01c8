/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool that listens to libcprof's static probes, inside of the process: it puts breakpoints on
 * their nops and reads the arguments from the registers that the notes name.
 *
 *     heap-usdt-host NOP SEMAPHORE ARGUMENTS NOP SEMAPHORE ARGUMENTS
 *
 * as `readelf -n` shows them for alloc, then for free: hexadecimal addresses in the file, and text
 * as "8@%rdi 8@%rsi". Prints how many blocks of site_probed the probes reported, their weighted
 * bytes, and the same for those that were not freed; then how many frees were of no such block.
 */
#include <link.h>
#include <ucontext.h>

#include "system.h"

#define SITE __attribute__((noinline, noclone))
#define SIZE 40009
#define BLOCKS 4000
#define PAGE ((uintptr_t)4096)

#ifdef __x86_64__
static const struct {
	const char *name;
	int number;
} registers[] = { { "rax", REG_RAX }, { "rbx", REG_RBX }, { "rcx", REG_RCX }, { "rdx", REG_RDX },
		  { "rsi", REG_RSI }, { "rdi", REG_RDI }, { "rbp", REG_RBP }, { "r8", REG_R8 },
		  { "r9", REG_R9 },   { "r10", REG_R10 }, { "r11", REG_R11 }, { "r12", REG_R12 },
		  { "r13", REG_R13 }, { "r14", REG_R14 }, { "r15", REG_R15 } };

static struct probe {
	uintptr_t nop;
	int registers[3];
} probes[2];

static struct seen {
	uintptr_t p, weight;
} seen[BLOCKS + 1];
static unsigned count, freed, strangers;

static void on_alloc(uintptr_t p, uintptr_t size, uintptr_t weight)
{
	if (size == SIZE && count < BLOCKS)
		seen[count++] = (struct seen){ p, weight };
}

/* The block, if it was reported, is the last one at its address. */
static void on_free(uintptr_t p)
{
	for (unsigned i = count; i-- > 0;)
		if (seen[i].p == p) {
			seen[i].p = 0;
			freed++;
			return;
		}
	strangers++;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t at = (uintptr_t)r[REG_RIP] - 1;

	(void)sig;
	(void)info;
	if (at == probes[0].nop)
		on_alloc((uintptr_t)r[probes[0].registers[0]], (uintptr_t)r[probes[0].registers[1]],
			 (uintptr_t)r[probes[0].registers[2]]);
	else if (at == probes[1].nop)
		on_free((uintptr_t)r[probes[1].registers[0]]);
	else
		abort();
}

static int register_of(const char *s, size_t n)
{
	for (unsigned i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		if (strlen(registers[i].name) == n && !strncmp(registers[i].name, s, n))
			return registers[i].number;
	fprintf(stderr, "no register: %.*s\n", (int)n, s);
	exit(3);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libcprof.so"))
		return 0;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

static void listen(struct probe *p, uintptr_t base, char **arguments)
{
	volatile uint16_t *semaphore =
		(volatile uint16_t *)(base + strtoul(arguments[1], NULL, 16));
	const char *s = arguments[2];

	p->nop = base + strtoul(arguments[0], NULL, 16);
	for (unsigned i = 0; i < 3 && (s = strchr(s, '%')); i++) {
		s++;
		p->registers[i] = register_of(s, strcspn(s, " "));
	}
	if (*(unsigned char *)p->nop != 0x90 ||
	    mprotect((void *)(p->nop & -PAGE), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC)) {
		fprintf(stderr, "no nop at %lx\n", (unsigned long)p->nop);
		exit(3);
	}
	*(unsigned char *)p->nop = 0xcc;
	++*semaphore;
}

SITE static void *site_probed(void *from)
{
	void *p = realloc(from, SIZE);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

int main(int argc, char **argv)
{
	static void *blocks[BLOCKS];
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	uintptr_t base = 0, bytes = 0, kept = 0;

	if (argc != 7 || !dl_iterate_phdr(find_library, &base) || sigaction(SIGTRAP, &act, NULL))
		return 2;
	listen(&probes[0], base, argv + 1);
	listen(&probes[1], base, argv + 4);
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = site_probed(i % 3 ? NULL : malloc(i));
	for (unsigned i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	for (unsigned i = 0; i < count; i++) {
		bytes += seen[i].weight;
		kept += seen[i].p ? seen[i].weight : 0;
	}
	printf("%u %lu %lu %u %u\n", count, (unsigned long)bytes, (unsigned long)kept, freed,
	       strangers);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
