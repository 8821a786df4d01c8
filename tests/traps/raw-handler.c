/* Takes SIGPROF's handler by a system call of its own, past libc, as some language runtimes do, and
 * works until the file argv[1] is there. */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define RESTORER 0x04000000ul /* SA_RESTORER */
void return_from_signal(void);
__asm__(".text\n"
	"return_from_signal:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n");
#else
#define RESTORER 0ul
#define return_from_signal NULL
#endif

/* The kernel's struct, which libc's is not. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static volatile unsigned long sink;

static void foreign(int sig)
{
	sink += (unsigned long)sig;
}

int main(int argc, char **argv)
{
	struct kernel_action act = { foreign, SA_RESTART | RESTORER, return_from_signal, 0 };

	if (argc != 2 || syscall(SYS_rt_sigaction, SIGPROF, &act, NULL, sizeof(act.mask)) < 0)
		return 2;
	while (access(argv[1], F_OK) < 0)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
	puts("done");
	return 5;
}
