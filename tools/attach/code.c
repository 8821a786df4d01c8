/* SPDX-License-Identifier: BSD-3-Clause */
/* The code that runs in the process; see attach.h. It is copied there, so nothing in it has an
 * address. Offsets are those of the structs in attach.h, which are checked below.
 *
 * entry: the seized thread, with its registers and its stack. All signals but SIGSETXID are
 * blocked, by the tool. It saves its registers in a frame below the red zone, so that the tool has
 * nothing to write while the thread is stopped. Then it makes a thread, and goes on as if nothing
 * had been: by rt_sigreturn, which restores registers and mask at once. But that lets the kernel
 * forget the timeout of an interrupted poll or nanosleep. Such a thread restores its registers
 * itself, and calls restart_syscall. A signal that has come meanwhile ends the system call by EINTR
 * if it would have done so without us.
 *
 * start: the new thread. It calls dlopen, dlsym and libcprof_attach, and ends.
 */
#include "attach/attach.h"

#include "base/attach.h"

#define AT(member, offset) _Static_assert(offsetof(struct ct_code_frame, member) == (offset), "")
AT(stack, 16);
AT(r8, 40);
AT(rdi, 104);
AT(rax, 144);
AT(rip, 168);
AT(fpstate, 224);
AT(mask, 296);
AT(thread, 304);
AT(attributes, 312);
AT(pending, 376);
AT(action, 384);
AT(call, 416);
AT(extended, 448);
_Static_assert(offsetof(struct ct_code_plan, extended_mask) == 80, "");
_Static_assert(offsetof(struct ct_code_plan, path) == 96, "");
_Static_assert(offsetof(struct ct_code_words, lent) == 48, "");

/* clang-format off */
__asm__(
	".pushsection .rodata.ct_code, \"a\", @progbits\n"
	".balign 64\n"
	".globl ct_code_begin, ct_code_end, ct_code_entry\n"
	".hidden ct_code_begin, ct_code_end, ct_code_entry\n"
	"ct_code_begin:\n"

	/* ---- the new thread; rdi: the plan ---- */
	".Lct_start:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	sub $272, %rsp\n" /* at rsp: the request, 256 bytes; then a timespec */
	"	mov %rdi, %rbx\n"
	"	mov 72(%rbx), %rbp\n"
	"	mov $186, %eax\n" /* gettid */
	"	syscall\n"
	"	mov %eax, 4(%rbp)\n"
	"	mov $157, %eax\n" /* prctl */
	"	mov $15, %edi\n"  /* PR_SET_NAME */
	"	lea .Lct_name(%rip), %rsi\n"
	"	syscall\n"
	"	lea 4(%rsp), %rdi\n"
	"	xor %eax, %eax\n"
	"	mov $252, %ecx\n"
	"	rep stosb\n"
	"	movl $1, (%rsp)\n" /* CP_ATTACH_VERSION */
	"	mov %rsp, 32(%rbp)\n"
	"	movl $-1, 28(%rbp)\n"
	"	mov 64(%rbx), %r12\n"
	"	test %r12, %r12\n"
	"	jnz .Lct_attach\n"
	"	cmpb $0, 96(%rbx)\n"
	"	jne .Lct_load\n"
	"	mov $319, %eax\n" /* memfd_create */
	"	lea .Lct_file(%rip), %rdi\n"
	"	mov $1, %esi\n" /* MFD_CLOEXEC */
	"	syscall\n"
	"	mov %eax, 28(%rbp)\n"
	"	mov %eax, 24(%rbp)\n"
	"	test %eax, %eax\n"
	"	js .Lct_given_up\n"
	"	movl $1, 16(%rbp)\n" /* CT_CODE_WANTS_FILE */
	"	mov $1, %edi\n"
	"	mov $10000, %esi\n"
	"	call .Lct_wait\n"
	"	cmpl $1, 20(%rbp)\n"
	"	jne .Lct_given_up\n"
	".Lct_load:\n"
	"	movl $2, 16(%rbp)\n" /* CT_CODE_LOADING */
	"	lea 96(%rbx), %rdi\n"
	"	mov $2, %esi\n" /* RTLD_NOW */
	"	call *40(%rbx)\n"
	"	test %rax, %rax\n"
	"	jz .Lct_failed\n"
	"	mov %rax, %rdi\n"
	"	lea .Lct_symbol(%rip), %rsi\n"
	"	call *48(%rbx)\n"
	"	test %rax, %rax\n"
	"	jz .Lct_failed\n"
	"	mov %rax, %r12\n"
	".Lct_attach:\n"
	"	cmpl $3, 20(%rbp)\n" /* CT_CODE_CANCEL */
	"	je .Lct_given_up\n"
	"	movl $3, 16(%rbp)\n" /* CT_CODE_ATTACHING */
	"	mov %rsp, %rdi\n"
	"	call *%r12\n"
	"	mov %eax, 24(%rbp)\n"
	"	movl $4, 16(%rbp)\n" /* CT_CODE_ATTACHED */
	"	jmp .Lct_end\n"
	".Lct_failed:\n"
	"	call *56(%rbx)\n"
	"	mov %rax, 40(%rbp)\n"
	"	movl $5, 16(%rbp)\n" /* CT_CODE_FAILED */
	"	jmp .Lct_end\n"
	".Lct_given_up:\n"
	"	movl $6, 16(%rbp)\n" /* CT_CODE_GIVEN_UP */
	".Lct_end:\n"
	"	mov 28(%rbp), %edi\n"
	"	test %edi, %edi\n"
	"	js 1f\n"
	"	mov $3, %eax\n" /* close */
	"	syscall\n"
	"1:	mov $2, %edi\n"
	"	mov $2000, %esi\n"
	"	call .Lct_wait\n"
	"	add $272, %rsp\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	xor %eax, %eax\n"
	"	ret\n"

	/* Waits until the answer is EDI or larger, for ESI milliseconds at most. The timespec is
	 * above the return address and the request. */
	".Lct_wait:\n"
	"	push %r12\n"
	"	push %r13\n"
	"	mov %edi, %r12d\n"
	"	mov %esi, %r13d\n"
	"	movq $0, 280(%rsp)\n"
	"	movq $1000000, 288(%rsp)\n"
	"1:	cmp %r12d, 20(%rbp)\n"
	"	jge 2f\n"
	"	mov $35, %eax\n" /* nanosleep */
	"	lea 280(%rsp), %rdi\n"
	"	xor %esi, %esi\n"
	"	syscall\n"
	"	dec %r13d\n"
	"	jnz 1b\n"
	"2:	pop %r13\n"
	"	pop %r12\n"
	"	ret\n"

	/* ---- the seized thread ---- */
	".Lct_entry:\n"
	"	lea -128(%rsp), %rsp\n"
	"	pushfq\n"
	"	push %rax\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %rdx\n"
	"	pushq $0x202\n" /* the direction flag is clear for libc's functions */
	"	popfq\n"
	"	lea ct_code_end(%rip), %rbx\n" /* the plan */
	"	mov %rsp, %rdx\n"
	"	lea -452(%rsp), %rbp\n" /* with the mark at the end of the area */
	"	sub 88(%rbx), %rbp\n"
	"	and $-64, %rbp\n"
	"	lea -64(%rbp), %rsp\n" /* a handler of SIGSETXID runs below the frame */
	"	movq $7, (%rbp)\n" /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	"	mov %r8, 40(%rbp)\n"
	"	mov %r9, 48(%rbp)\n"
	"	mov %r10, 56(%rbp)\n"
	"	mov %r11, 64(%rbp)\n"
	"	mov %r12, 72(%rbp)\n"
	"	mov %r13, 80(%rbp)\n"
	"	mov %r14, 88(%rbp)\n"
	"	mov %r15, 96(%rbp)\n"
	"	mov %rdi, 104(%rbp)\n"
	"	mov %rsi, 112(%rbp)\n"
	"	mov %rcx, 152(%rbp)\n"
	"	mov 8(%rdx), %rax\n"
	"	mov %rax, 120(%rbp)\n" /* rbp */
	"	mov 16(%rdx), %rax\n"
	"	mov %rax, 128(%rbp)\n" /* rbx */
	"	mov (%rdx), %rax\n"
	"	mov %rax, 136(%rbp)\n" /* rdx */
	"	mov 24(%rdx), %rax\n"
	"	mov %rax, 144(%rbp)\n" /* rax */
	"	lea 168(%rdx), %rax\n"
	"	mov %rax, 160(%rbp)\n" /* rsp */
	"	mov 32(%rdx), %rax\n"
	"	mov %rax, 176(%rbp)\n" /* eflags */
	"	movl $0x33, 184(%rbp)\n" /* cs, gs */
	"	movl $0x2b0000, 188(%rbp)\n" /* fs, ss */
	"	lea 448(%rbp), %rdi\n"
	"	mov %rdi, 224(%rbp)\n"
	"	mov 72(%rbx), %r14\n"
	"	mov 48(%r14), %rax\n"
	"	mov %rax, 168(%rbp)\n" /* rip */
	"	mov 56(%r14), %rax\n"
	"	mov %rax, 296(%rbp)\n" /* the mask */
	"	mov 64(%r14), %rax\n"
	"	mov %rax, 416(%rbp)\n" /* how the call goes on */
	/* XSAVE leaves alone the kernel's part of the area, and most of its own header. */
	"	xor %eax, %eax\n"
	"	add $464, %rdi\n"
	"	mov $14, %ecx\n"
	"	rep stosq\n"
	"	mov 80(%rbx), %eax\n"
	"	mov 84(%rbx), %edx\n"
	"	xsave64 448(%rbp)\n"
	"	mov 88(%rbx), %rcx\n"
	"	movl $0x46505853, 912(%rbp)\n" /* FP_XSTATE_MAGIC1 */
	"	lea 4(%rcx), %edx\n"
	"	mov %edx, 916(%rbp)\n"
	"	mov 80(%rbx), %rax\n"
	"	mov %rax, 920(%rbp)\n"
	"	mov %ecx, 928(%rbp)\n"
	"	movl $0x46505845, 448(%rbp,%rcx)\n" /* FP_XSTATE_MAGIC2 */
	"	movl $2, 8(%r14)\n" /* CT_CODE_LENT */
	"	call *32(%rbx)\n" /* errno is as it was afterwards */
	"	mov %rax, %r12\n"
	"	mov (%rax), %r13d\n"
	"	lea 312(%rbp), %rdi\n"
	"	call *8(%rbx)\n"
	"	lea 312(%rbp), %rdi\n"
	"	mov $1, %esi\n" /* PTHREAD_CREATE_DETACHED */
	"	call *16(%rbx)\n"
	"	lea 312(%rbp), %rdi\n"
	"	mov $0x100000, %esi\n"
	"	call *24(%rbx)\n"
	"	lea 304(%rbp), %rdi\n"
	"	lea 312(%rbp), %rsi\n"
	"	lea .Lct_start(%rip), %rdx\n"
	"	mov %rbx, %rcx\n"
	"	call *(%rbx)\n"
	"	mov %eax, 12(%r14)\n"
	"	mov %r13d, (%r12)\n"
	/* The frame has the alternate stack, because rt_sigreturn restores it, too. */
	"	mov $131, %eax\n" /* sigaltstack */
	"	xor %edi, %edi\n"
	"	lea 16(%rbp), %rsi\n"
	"	syscall\n"
	"	mov $127, %eax\n" /* rt_sigpending */
	"	lea 376(%rbp), %rdi\n"
	"	mov $8, %esi\n"
	"	syscall\n"
	"	mov 296(%rbp), %r12\n"
	"	not %r12\n"
	"	and 376(%rbp), %r12\n"
	"	cmpl $0, 416(%rbp)\n" /* CT_CODE_PLAIN */
	"	je .Lct_leave\n"
	".Lct_next:\n"
	"	bsf %r12, %r13\n"
	"	jz .Lct_unhandled\n"
	"	btr %r13, %r12\n"
	"	lea 1(%r13), %edi\n"
	"	xor %esi, %esi\n"
	"	lea 384(%rbp), %rdx\n"
	"	mov $8, %r10d\n"
	"	mov $13, %eax\n" /* rt_sigaction */
	"	syscall\n"
	"	cmpq $1, 384(%rbp)\n" /* SIG_DFL and SIG_IGN interrupt nothing that goes on */
	"	jbe .Lct_next\n"
	"	cmpl $1, 416(%rbp)\n" /* CT_CODE_RESTARTS */
	"	jne .Lct_interrupted\n"
	"	testl $0x10000000, 392(%rbp)\n" /* SA_RESTART */
	"	jnz .Lct_next\n"
	".Lct_interrupted:\n"
	"	movq $-4, 144(%rbp)\n" /* -EINTR */
	"	addq $2, 168(%rbp)\n"  /* after the system call's instruction */
	"	jmp .Lct_leave\n"
	".Lct_unhandled:\n"
	"	cmpl $3, 416(%rbp)\n" /* CT_CODE_CONTINUES */
	"	je .Lct_continue\n"
	".Lct_leave:\n"
	"	movl $1, 8(%r14)\n"
	"	mov %rbp, %rsp\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"

	/* The kernel may deliver a signal from the second system call on: then all is below rsp
	 * that is still needed. rcx and r11 are the kernel's to overwrite in any system call. */
	".Lct_continue:\n"
	"	movl $1, 8(%r14)\n"
	"	mov 920(%rbp), %eax\n" /* the parts that the area has, as the kernel's header says */
	"	mov 924(%rbp), %edx\n"
	"	xrstor64 448(%rbp)\n"
	"	mov %rbp, %rsp\n"
	"	mov $14, %eax\n" /* rt_sigprocmask */
	"	mov $2, %edi\n"	 /* SIG_SETMASK */
	"	lea 296(%rbp), %rsi\n"
	"	xor %edx, %edx\n"
	"	mov $8, %r10d\n"
	"	syscall\n"
	"	pushq 176(%rsp)\n"
	"	popfq\n"
	"	mov 40(%rsp), %r8\n"
	"	mov 48(%rsp), %r9\n"
	"	mov 56(%rsp), %r10\n"
	"	mov 168(%rsp), %r11\n"
	"	mov 72(%rsp), %r12\n"
	"	mov 80(%rsp), %r13\n"
	"	mov 88(%rsp), %r14\n"
	"	mov 96(%rsp), %r15\n"
	"	mov 104(%rsp), %rdi\n"
	"	mov 112(%rsp), %rsi\n"
	"	mov 120(%rsp), %rbp\n"
	"	mov 128(%rsp), %rbx\n"
	"	mov 136(%rsp), %rdx\n"
	"	mov 152(%rsp), %rcx\n"
	"	mov $219, %eax\n" /* restart_syscall */
	"	mov 160(%rsp), %rsp\n"
	"	jmp *%r11\n"

	".Lct_file:	.asciz \"libcprof.so\"\n"
	".Lct_name:	.asciz \"" CP_ATTACH_THREAD "\"\n"
	".Lct_symbol: .asciz \"libcprof_attach\"\n"
	"	.balign 16\n"
	"ct_code_end:\n"
	"ct_code_entry: .long .Lct_entry - ct_code_begin\n"
	".popsection\n");
/* clang-format on */
