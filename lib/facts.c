/* Facts about the process; see facts.h. */
#include "facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "sigsafe/sys.h"
#include "sigsafe/text.h"

/* Ranks of one parallel job would otherwise all write the same file. Open MPI, MPICH and Intel MPI,
 * MVAPICH, Slurm (which sets it for every step, so it comes last). */
static const char *const rank_variables[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					      "MV2_COMM_WORLD_RANK", "SLURM_PROCID" };

static void read_program(char *to, size_t size)
{
	char link[4096];
	long n = cp_sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", link, sizeof(link) - 1);
	const char *slash;

	link[n > 0 ? n : 0] = '\0';
	slash = strrchr(link, '/');
	cp_format(to, size, "%s", slash ? slash + 1 : program_invocation_short_name);
}

static const char *read_rank(char *to, size_t size)
{
	uint64_t rank;

	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
		const char *value = secure_getenv(rank_variables[i]), *end = value;

		if (!value || cp_parse_u64(&end, 10, &rank) || *end)
			continue;
		cp_format(to, size, "%lu", (unsigned long)rank);
		return to;
	}
	return NULL;
}

void cp_facts_read(struct cp_facts *f)
{
	struct utsname u = { 0 };

	cp_sys1(SYS_uname, &u);
	cp_format(f->host, sizeof(f->host), "%s", u.nodename);
	read_program(f->program, sizeof(f->program));
	f->path = (struct cp_path_facts){
		.pid = cp_sys_getpid(),
		.program = f->program,
		.host = f->host,
		.start_time = cp_sys_clock_ns(CLOCK_REALTIME) / 1000000000u,
		.rank = read_rank(f->rank, sizeof(f->rank)),
	};
}
