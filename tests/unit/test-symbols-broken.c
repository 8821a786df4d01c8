/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for addresses, where there is no module, its file can't be read, or it is broken: an error
 * at most, and an end. */
#define OWN_MAIN
#include "symbols-fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "system.h"
#include "base/sys.h"

TEST(test_what_is_no_module_is_refused)
{
	static const char *const paths[] = {
		"/dev/null", "/proc/self/maps", "/", "", "[vdso]", "/x"
	};
	struct cp_symbol_query q = { .offset = 0x1000 };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct cp_symbol_module m = { .path = paths[i] };

		CHECK_EQ(cp_symbols_find(&m, &q, 1, &names), -ENOENT);
	}
}

/* ---- files that can't be read ---- */

/* From now on, this process's reads of a file from FROM on fail. */
static bool fail_reads(uint32_t from)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, from, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool fail_opens(uint32_t unused)
{
	struct rlimit none = { 0, 0 };

	(void)unused;
	return !setrlimit(RLIMIT_NOFILE, &none);
}

/* Looks up an exported and a local function of M in a child in which FAIL has broken something.
 * Returns the result of the search, with a bit in *NAMED for each name that was found; -1: no child
 * could be made. */
static int search_without(bool (*fail)(uint32_t), uint32_t from, const struct cp_symbol_module *m,
			  unsigned *named)
{
	struct cp_symbol_query q[] = {
		{ .offset = offset_of(fixture.path, fixture_vaddr(exported("second"))) },
		{ .offset = offset_of(fixture.path, fixture_vaddr(*(char **)exported("places"))) },
	};
	uint64_t second = q[0].offset;
	int status, result[2] = { -1, 0 }, ends[2];
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid) {
		if (fail(from)) {
			result[0] = -cp_symbols_find(m, q, 2, &names);
			for (int i = 0; i < 2; i++)
				if (q[i].name)
					result[1] |= q[i].offset == second ? 1 : 2;
		}
		_exit(write(ends[1], result, sizeof(result)) != sizeof(result));
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(read(ends[0], result, sizeof(result)), sizeof(result));
	close(ends[0]);
	close(ends[1]);
	*named = (unsigned)result[1];
	return result[0];
}

/* Offset of the fixture's .symtab, after everything that is loaded. */
static uint32_t symtab_at(void)
{
	struct cp_elf_symtab t;
	struct cp_elf e;

	CHECK(!cp_elf_open(&e, fixture.path));
	CHECK(!cp_elf_find_symtab(&e, SHT_SYMTAB, &t));
	cp_elf_close(&e);
	return (uint32_t)t.off;
}

TEST(test_a_file_that_cannot_be_read_is_told)
{
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_symbol_module m = { .path = fixture.path }, mapped = mapped_fixture(id);
	unsigned named;

	/* The end of the file: the parts that the loader needs remain. */
	CHECK_EQ(search_without(fail_reads, symtab_at(), &m, &named), EIO);
	CHECK_EQ(named, 1);
	CHECK_EQ(search_without(fail_reads, 0, &m, &named), EIO);
	CHECK_EQ(named, 0);
	CHECK_EQ(search_without(fail_reads, 0, &mapped, &named), EIO);
	CHECK_EQ(named, 1);
	CHECK_EQ(search_without(fail_opens, 0, &mapped, &named), EMFILE);
	CHECK_EQ(named, 1);
	/* Nothing is missing. */
	CHECK_EQ(search_without(fail_reads, UINT32_MAX, &m, &named), 0);
	CHECK_EQ(named, 3);
	/* Another way to the same file. */
	m.also = fixture.path;
	m.path = "/proc/self/mem";
	CHECK_EQ(search_without(fail_reads, UINT32_MAX, &m, &named), 0);
	CHECK_EQ(named, 3);
}

/* ---- broken files and images: no crash, and an end ---- */

static void find_all(const struct cp_symbol_module *m)
{
	struct cp_symbol_query q[64] = { 0 };
	struct cp_arena a = { .limit = 1 << 20 };

	for (int i = 0; i < 64; i++)
		q[i].offset = (uint64_t)i * 97;
	cp_symbols_find(m, q, 64, &a);
	cp_arena_release(&a);
}

static const uint8_t flips[] = { 0x01, 0x80, 0xff };

TEST(test_broken_files_do_no_harm)
{
	struct cp_symbol_module m = { 0 };
	char path[64];
	size_t n;
	uint8_t *bytes = fixture_read(fixture.path, &n);
	int fd = memfd_create("broken", 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	m.path = path;
	CHECK_EQ(write(fd, bytes, n), (ssize_t)n);
	find_all(&m);
	for (size_t i = 0; i < n; i += i < 1024 || i > n - 4096 ? 1 : 7) {
		uint8_t broken = bytes[i] ^ flips[i % 3];

		CHECK_EQ(pwrite(fd, &broken, 1, (off_t)i), 1);
		find_all(&m);
		CHECK_EQ(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
	}
	for (size_t left = n; left > 64; left -= left / 50 + 1) {
		CHECK(!ftruncate(fd, (off_t)left));
		find_all(&m);
	}
	close(fd);
	free(bytes);
}

TEST(test_broken_images_do_no_harm)
{
	struct cp_symbol_module m = { .path = "/nowhere", .image_size = IMAGE_SIZE };
	uint8_t *image =
		mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t n = 0;

	while (n < IMAGE_SIZE && cp_sys_peek(image + n, fixture_image(&fixture) + n, 4096) == 4096)
		n += 4096;
	CHECK(n > 4096);
	m.image = (uintptr_t)image;
	for (size_t i = 0; i < n; i += i < 8192 || i > n - 8192 ? 1 : 61) {
		uint8_t was = image[i];

		image[i] ^= flips[i % 3];
		find_all(&m);
		image[i] = was;
	}
	munmap(image + 4096, IMAGE_SIZE - 4096);
	find_all(&m);
	munmap(image, 4096);
	find_all(&m);
}

int main(void)
{
	int skipped = symbols_begin();

	if (skipped)
		return skipped;
	harness_all();
	return symbols_end();
}
