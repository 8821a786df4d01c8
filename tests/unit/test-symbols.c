/* Names for addresses: from a real shared object, libc, the vdso, and what remains of a module
 * whose file went away or is broken. */
#include "harness.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "buildid.h"
#include "elf-fixture.h"
#include "elf.h"
#include "sigsafe/sys.h"
#include "symbols.h"

#define IMAGE_SIZE 0x10000

static struct fixture fixture;
static struct cp_arena names;

static uint64_t offset_of(const char *path, uint64_t vaddr)
{
	struct cp_elf e;
	uint64_t off = UINT64_MAX;

	if (!cp_elf_open(&e, path)) {
		cp_elf_offset_of(&e, vaddr, &off);
		cp_elf_close(&e);
	}
	return off;
}

/* One address of a module: its name or NULL; *START as a query has it. */
static const char *name_in(const struct cp_symbol_module *m, uint64_t offset, uint64_t *start)
{
	struct cp_symbol_query q = { .offset = offset };

	if (start)
		*start = 0;
	if (cp_symbols_find(m, &q, 1, &names))
		return NULL;
	if (start)
		*start = q.start;
	return q.name;
}

static const char *name_of(const char *path, const void *address, uint64_t *offset, uint64_t *start)
{
	struct cp_symbol_module m = { .path = path };

	*offset = offset_of(path, fixture_vaddr(address));
	return name_in(&m, *offset, start);
}

static char *exported(const char *name)
{
	return dlsym(fixture.loaded, name);
}

static void test_functions_are_named_local_ones_too(void)
{
	char *hidden = *(char **)exported("places");
	uint64_t off, start;

	CHECK_STR(name_of(fixture.path, hidden, &off, &start), "hidden_local");
	CHECK_EQ(start, off);
	CHECK_STR(name_of(fixture.path, hidden + 1, &off, &start), "hidden_local");
	CHECK_EQ(start, off - 1);
}

static void test_global_aliases_win_then_plain_names(void)
{
	uint64_t off;

	CHECK_STR(name_of(fixture.path, exported("exported"), &off, NULL), "exported");
	CHECK_STR(name_of(fixture.path, exported("second"), &off, NULL), "second");
}

static void test_versions_are_cut_off(void)
{
	uint64_t off;

	CHECK_STR(name_of(fixture.path, exported("versioned"), &off, NULL), "versioned");
}

static void test_symbols_without_size_reach_to_the_next(void)
{
	char **unsized = (char **)exported("unsized");
	const char *beyond;
	uint64_t off;

	CHECK_STR(name_of(fixture.path, unsized[0], &off, NULL), "unsized_one");
	CHECK_STR(name_of(fixture.path, unsized[0] + 15, &off, NULL), "unsized_one");
	CHECK_STR(name_of(fixture.path, unsized[1], &off, NULL), "unsized_two");
	CHECK_STR(name_of(fixture.path, unsized[1] + 12, &off, NULL), "unsized_two"); /* not $x */
	CHECK_STR(name_of(fixture.path, unsized[2] + 15, &off, NULL), "unsized_last");
	/* not over the end of their section */
	beyond = name_of(fixture.path, unsized[2] + 16, &off, NULL);
	CHECK(!beyond || strcmp(beyond, "unsized_last"));
}

static void test_plt_stubs_are_named(void)
{
	struct cp_symbol_module m = { .path = fixture.path };
	struct cp_elf e;
	Elf64_Shdr plt;
	bool found = false;

	CHECK(!cp_elf_open(&e, fixture.path));
	if (cp_elf_find_section(&e, SHT_PROGBITS, ".plt.sec", &plt) &&
	    cp_elf_find_section(&e, SHT_PROGBITS, ".plt", &plt))
		plt.sh_size = 0;
	cp_elf_close(&e);
	for (uint64_t i = 0; i < plt.sh_size; i += 4) {
		const char *name = name_in(&m, plt.sh_offset + i, NULL);

		found |= name && !strcmp(name, "puts@plt");
	}
	CHECK(found);
}

static void test_queries_are_sorted_and_all_answered(void)
{
	struct cp_symbol_module m = { .path = fixture.path };
	char **unsized = (char **)exported("unsized");
	uint64_t second = offset_of(fixture.path, fixture_vaddr(exported("second")));
	uint64_t one = offset_of(fixture.path, fixture_vaddr(unsized[0]));
	struct cp_symbol_query q[64] = { 0 };
	size_t seconds = 0, ones = 0, none = 0;

	for (int i = 0; i < 64; i++)
		q[i].offset = i % 3 == 0   ? second + (i & 1)
			      : i % 3 == 1 ? one + i % 16
					   : UINT64_MAX - i;
	CHECK_EQ(cp_symbols_find(&m, q, 64, &names), 0);
	for (int i = 0; i < 64; i++) {
		CHECK(!i || q[i - 1].offset <= q[i].offset);
		seconds += q[i].name && !strcmp(q[i].name, "second");
		ones += q[i].name && !strcmp(q[i].name, "unsized_one");
		none += !q[i].name;
	}
	CHECK_EQ(seconds, 22);
	CHECK_EQ(ones, 21);
	CHECK_EQ(none, 21);
	CHECK_EQ(cp_symbols_find(&m, q, 0, &names), 0);
}

static void test_memory_has_its_limit(void)
{
	struct cp_symbol_module m = { .path = fixture.path };
	struct cp_symbol_query q = { .offset = offset_of(fixture.path,
							 fixture_vaddr(exported("second"))) };
	struct cp_arena small = { .limit = 1 };

	CHECK_EQ(cp_symbols_find(&m, &q, 1, &small), -ENOMEM);
	CHECK(!q.name);
}

static void test_libc_knows_its_functions(void)
{
	static const char *const wanted[] = { "strtol", "fflush", "getenv", "opendir" };
	Dl_info info;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		char *address = dlsym(RTLD_NEXT, wanted[i]);
		struct cp_symbol_module m = { 0 };
		uint64_t off, start;

		CHECK(address && dladdr(address, &info));
		m.path = realpath(info.dli_fname, NULL);
		off = offset_of(m.path, (uint64_t)(address - (char *)info.dli_fbase));
		CHECK(name_in(&m, off + 1, &start));
		CHECK_EQ(start, off);
		free((char *)m.path);
	}
}

static size_t named_in_vdso(struct cp_symbol_module *m, bool *clock)
{
	struct cp_symbol_query q[512];
	size_t named = 0;

	for (int i = 0; i < 512; i++)
		q[i] = (struct cp_symbol_query){ .offset = (uint64_t)i * 16 };
	*clock = false;
	if (cp_symbols_find(m, q, 512, &names))
		return 0;
	for (int i = 0; i < 512; i++) {
		named += q[i].name != NULL;
		*clock |= q[i].name && strstr(q[i].name, "clock_gettime");
	}
	return named;
}

static void test_vdso_is_read_from_memory(void)
{
	struct cp_symbol_module m = { .path = "[vdso]", .image_size = 0x1000 };
	bool clock;

	m.image = getauxval(AT_SYSINFO_EHDR);
	if (!m.image)
		SKIP("there is no vdso");
	CHECK(named_in_vdso(&m, &clock) > 4);
	CHECK(clock);
}

static struct cp_symbol_module mapped_fixture(uint8_t id[CP_BUILD_ID_MAX])
{
	struct cp_symbol_module m = { .path = fixture.path, .build_id = id };
	int n = cp_buildid_of_file(fixture.path, id, CP_BUILD_ID_MAX);

	CHECK(n > 0);
	m.build_id_size = (size_t)n;
	m.image = fixture_image(&fixture);
	m.image_size = IMAGE_SIZE;
	return m;
}

static void test_deleted_module_is_read_from_its_image(void)
{
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_symbol_module m = mapped_fixture(id);
	uint64_t off = offset_of(fixture.path, fixture_vaddr(exported("second")));
	uint64_t hidden = offset_of(fixture.path, fixture_vaddr(*(char **)exported("places")));
	uint64_t start;

	m.path = "/nowhere/fixture.so";
	CHECK_STR(name_in(&m, off, &start), "second");
	CHECK_EQ(start, off);
	CHECK(!name_in(&m, hidden, NULL)); /* not exported: nothing false is said */
	m.image = 0;
	CHECK(!name_in(&m, off, NULL));
	m.image = 16;
	CHECK(!name_in(&m, off, NULL));
}

static void test_replaced_module_is_not_used(void)
{
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_symbol_module m = mapped_fixture(id);
	uint64_t hidden = offset_of(fixture.path, fixture_vaddr(*(char **)exported("places")));
	struct cp_symbol_query q = { .offset = hidden };

	CHECK_STR(name_in(&m, hidden, NULL), "hidden_local");
	id[0] ^= 1;
	CHECK(!name_in(&m, hidden, NULL));
	m.image = 0;
	CHECK_EQ(cp_symbols_find(&m, &q, 1, &names), -ENOENT);
}

static void test_what_is_no_module_is_refused(void)
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

/* From now on, reads of this process' that begin at FROM of a file or behind it fail. */
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

/* Of EXPORTED and HIDDEN, in a process of its own that FAIL has made poorer: what the search says,
 * and a bit for each that has its name. -1: it could not be made. */
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

/* Offset of the fixture's .symtab, behind all that is loaded. */
static uint32_t symtab_at(void)
{
	struct cp_elf_symtab t;
	struct cp_elf e;

	CHECK(!cp_elf_open(&e, fixture.path));
	CHECK(!cp_elf_find_symtab(&e, SHT_SYMTAB, &t));
	cp_elf_close(&e);
	return (uint32_t)t.off;
}

static void test_a_file_that_cannot_be_read_is_told(void)
{
	uint8_t id[CP_BUILD_ID_MAX];
	struct cp_symbol_module m = { .path = fixture.path }, mapped = mapped_fixture(id);
	unsigned named;

	/* The end of the file: what the loader needs remains. */
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

static void test_broken_files_do_no_harm(void)
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

static void test_broken_images_do_no_harm(void)
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
	if (!fixture_make(&fixture) || !fixture_load(&fixture)) {
		printf("1..0 # SKIP no compiler that makes a shared object\n");
		fixture_remove(&fixture);
		return 77;
	}
	RUN(test_functions_are_named_local_ones_too);
	RUN(test_global_aliases_win_then_plain_names);
	RUN(test_versions_are_cut_off);
	RUN(test_symbols_without_size_reach_to_the_next);
	RUN(test_plt_stubs_are_named);
	RUN(test_queries_are_sorted_and_all_answered);
	RUN(test_memory_has_its_limit);
	RUN(test_libc_knows_its_functions);
	RUN(test_vdso_is_read_from_memory);
	RUN(test_deleted_module_is_read_from_its_image);
	RUN(test_replaced_module_is_not_used);
	RUN(test_what_is_no_module_is_refused);
	RUN(test_a_file_that_cannot_be_read_is_told);
	RUN(test_broken_files_do_no_harm);
	RUN(test_broken_images_do_no_harm);
	cp_arena_release(&names);
	fixture_remove(&fixture);
	return harness_end();
}
