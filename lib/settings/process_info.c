/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects facts about the process; see settings.h. */
#include "settings/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/libc.h"
#include "base/sys.h"
#include "base/text.h"

/* Without the rank in the name, all ranks of one parallel job would write the same file. The
 * variables are those of Open MPI, MPICH and Intel MPI, MVAPICH, PMIx launchers, and Slurm. Slurm
 * sets its variable for every step, so it comes last. */
static const char *const rank_variables[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					      "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID" };

/* Returns the path that this program was started by, if the path leads to FILE. The path of a
 * script doesn't, and a relative path may not any more. */
static const char *started_by(const char *file)
{
	const char *path = (const char *)cp_libc_auxval(AT_EXECFN); /* NOLINT: an address */
	struct stat exe, started;

	return path && !cp_sys4(SYS_newfstatat, AT_FDCWD, file, &exe, 0) &&
			       !cp_sys4(SYS_newfstatat, AT_FDCWD, path, &started, 0) &&
			       exe.st_dev == started.st_dev && exe.st_ino == started.st_ino
		       ? path
		       : NULL;
}

static const struct cp_process_info *last;

/* Reads the name by which the program was started, and, if that is a link, the name of its file. */
static void read_program(struct cp_process_info *f)
{
	char link[4096];
	const char *exe = cp_libc_program_file(), *path = started_by(exe), *slash;
	/* Fails if the loader was run: that path is the program's own. */
	long n = cp_sys4(SYS_readlinkat, AT_FDCWD, exe, link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	slash = strrchr(path ? path : link, '/');
	cp_text_format(f->program, sizeof(f->program), "%s",
		       slash  ? slash + 1
		       : path ? path
			      : program_invocation_short_name);
	slash = strrchr(link, '/');
	cp_text_format(f->file, sizeof(f->file), "%s",
		       slash && strcmp(slash + 1, f->program) != 0 ? slash + 1 : "");
}

const struct cp_process_info *cp_process_info_last(void)
{
	return last;
}

static const char *read_rank(char *to, size_t size)
{
	uint64_t rank;

	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
		const char *value = secure_getenv(rank_variables[i]), *end = value;

		if (!value || cp_text_parse_u64(&end, 10, &rank) || *end)
			continue;
		cp_text_format(to, size, "%lu", (unsigned long)rank);
		return to;
	}
	return NULL;
}

static const char *read_variable(const char *name)
{
	return secure_getenv(name);
}

void cp_process_info_read(struct cp_process_info *f)
{
	struct utsname u = { 0 };

	cp_sys1(SYS_uname, &u);
	cp_text_format(f->host, sizeof(f->host), "%s", u.nodename);
	read_program(f);
	last = f;
	f->path = (struct cp_path_facts){
		.pid = cp_sys_getpid(),
		.program = f->program,
		.host = f->host,
		.start_time = cp_sys_clock_ns(CLOCK_REALTIME) / 1000000000u,
		.variable = read_variable,
		.rank = read_rank(f->rank, sizeof(f->rank)),
	};
}
