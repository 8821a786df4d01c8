/* Arena and vector. */
#include "harness.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sigsafe/pages.h"
#include "sigsafe/sys.h"

static void test_arena_gives_zeroed_aligned_blocks(void)
{
	struct cp_arena a = { 0 };

	for (size_t n = 1; n < 200000; n = n * 3 + 1) {
		unsigned char *p = cp_arena_alloc(&a, n);

		CHECK(p && (uintptr_t)p % 8 == 0);
		for (size_t i = 0; p && i < n; i++)
			if (p[i]) {
				CHECK(!"zeroed");
				break;
			}
		if (p)
			memset(p, 0xff, n);
	}
	cp_arena_release(&a);
	CHECK_EQ(a.mapped, 0);
}

static void test_arena_keeps_its_limit(void)
{
	struct cp_arena a = { .limit = 64 << 10 };
	size_t got = 0;

	while (cp_arena_alloc(&a, 1000))
		got += 1000;
	CHECK(got > 32000 && got <= 64 << 10);
	CHECK(!cp_arena_alloc(&a, 1 << 20));
	CHECK(!cp_arena_alloc(&a, SIZE_MAX - 3));
	cp_arena_release(&a);
	CHECK_EQ(a.limit, 64 << 10);
}

static void test_vector_keeps_items_while_growing(void)
{
	struct cp_vec v = { .size = sizeof(uint32_t) };

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t *p = cp_vec_add(&v);

		CHECK(p && *p == 0);
		*p = i;
	}
	CHECK_EQ(v.count, 100000);
	for (uint32_t i = 0; i < 100000; i += 777)
		CHECK_EQ(*CP_VEC_AT(&v, uint32_t, i), i);
	cp_vec_release(&v);
	CHECK(!v.items);
}

/* From here on. */
static int refuse(int call)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void test_vector_grows_where_pages_may_not_move(void)
{
	struct cp_vec v = { .size = sizeof(uint32_t) };
	int status, pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (refuse(SYS_mremap))
			_exit(77);
		for (uint32_t i = 0; i < 10000; i++) {
			uint32_t *p = cp_vec_add(&v);

			if (!p)
				_exit(1);
			*p = i;
		}
		_exit(*CP_VEC_AT(&v, uint32_t, 777) != 777);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("filters are not allowed here");
	CHECK_EQ(status, 0);
}

static void test_vector_is_made_as_long_as_asked(void)
{
	struct cp_vec v = { .size = sizeof(uint32_t) };

	CHECK(cp_vec_extend(&v, 0) && v.count == 0);
	CHECK(cp_vec_extend(&v, 3) && v.count == 3);
	*CP_VEC_AT(&v, uint32_t, 2) = 7;
	CHECK(cp_vec_extend(&v, 1) && v.count == 3);
	/* What was there before its items went is not seen again. */
	v.count = 1;
	CHECK(cp_vec_extend(&v, 5000));
	for (uint32_t i = 0; i < 5000; i++)
		CHECK_EQ(*CP_VEC_AT(&v, uint32_t, i), 0);
	cp_vec_release(&v);
}

/* Mapped in one, given back in pieces. */
static void test_unmapping_takes_all_and_no_more(void)
{
	enum { PAGES = 2000, FIRST = 3, LAST = 1990 };
	char *p = cp_sys_map(PAGES * 4096);
	unsigned char there;

	CHECK(p != NULL);
	cp_sys_unmap(p + FIRST * 4096, (LAST - FIRST) * 4096);
	for (int i = 0; i < PAGES; i++)
		CHECK_EQ(mincore(p + i * 4096, 4096, &there) == 0, i < FIRST || i >= LAST);
	cp_sys_unmap(p, FIRST * 4096);
	cp_sys_unmap(p + LAST * 4096, (PAGES - LAST) * 4096);
	cp_sys_unmap(NULL, 4096);
}

static void test_large_arenas_keep_their_limit(void)
{
	struct cp_arena a = { .limit = (size_t)50 << 20 };
	size_t got = 0;

	while (cp_arena_alloc(&a, 100000))
		got += 100000;
	CHECK(a.mapped <= a.limit);
	CHECK(got > (size_t)40 << 20);
	cp_arena_release(&a);
}

int main(void)
{
	RUN(test_unmapping_takes_all_and_no_more);
	RUN(test_large_arenas_keep_their_limit);
	RUN(test_arena_gives_zeroed_aligned_blocks);
	RUN(test_arena_keeps_its_limit);
	RUN(test_vector_keeps_items_while_growing);
	RUN(test_vector_is_made_as_long_as_asked);
	RUN(test_vector_grows_where_pages_may_not_move);
	return harness_end();
}
