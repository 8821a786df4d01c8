/* SPDX-License-Identifier: BSD-3-Clause */
/* A fiber of the program's own making, begun as boost.context and its kin begin theirs: by code
 * without call frame information, where the fiber's function would return to an address that no
 * call has left.
 */
#include "host.h"

#define STACK ((size_t)256 << 10)

#ifdef __x86_64__
/* Registers, as switch_stacks takes them from a stack; the last is where it returns to. */
struct begin {
	uint64_t r15, r14, r13, r12, rbx, rbp, pc;
};

void switch_stacks(void **from, void *to);
void fiber_begins(void);
void fiber_ends(void);

__asm__(".text\n"
	".type switch_stacks,@function\n"
	"switch_stacks:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp,(%rdi)\n"
	"	mov %rsi,%rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".type fiber_begins,@function\n"
	"fiber_begins:\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	"fiber_ends:\n"
	"	xor %rdi,%rdi\n"
	"	call _exit@PLT\n"
	"	hlt\n"
	".size fiber_begins,.-fiber_begins\n");

static void *main_stack, *fiber_stack;

__attribute__((noinline)) static void fiber_works(void)
{
	burn(0.3);
	__asm__ volatile("");
}

static void fiber(void)
{
	fiber_works();
	switch_stacks(&fiber_stack, main_stack);
	abort();
}

int main(void)
{
	char *memory =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct begin *begin = (void *)(memory + STACK - 72); /* aligned as calls are */

	if (memory == MAP_FAILED)
		return 77;
	*begin = (struct begin){ .rbx = (uintptr_t)fiber,
				 .rbp = (uintptr_t)fiber_ends,
				 .pc = (uintptr_t)fiber_begins };
	switch_stacks(&main_stack, begin);
	puts("done");
	HOST_END();
}
#else
int main(void)
{
	return 77;
}
#endif
