/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of packages, by distribution; see core.h. */
#include "core/core.h"

#include <stdlib.h>

/* DEBUG_FILES: with %1$s for the module's path and %2$s for the profile. */
static const struct distribution {
	const char *id, *capstone, *debug_files;
} known[] = {
#define SERVER(url, library)                                                                       \
	"\"DEBUGINFOD_URLS=" url " cprof symbolize --in-place %2$s\" (with " library ")%1$.0s"
	{ "ubuntu", "apt install libcapstone4 (since 25.04 libcapstone5)",
	  SERVER("https://debuginfod.ubuntu.com", "libdebuginfod1, or its package from ddebs") },
	{ "debian", "apt install libcapstone4 (since Debian 13 libcapstone5)",
	  SERVER("https://debuginfod.debian.net",
		 "libdebuginfod1, or its -dbgsym package from the debug archive") },
	{ "fedora", "dnf install capstone",
	  "\"dnf debuginfo-install $(rpm -qf %1$s)\", then \"cprof symbolize --in-place %2$s\"" },
	{ "arch", "pacman -S capstone", SERVER("https://debuginfod.archlinux.org", "debuginfod") },
	{ "suse", "zypper install libcapstone5",
	  SERVER("https://debuginfod.opensuse.org", "libdebuginfod1") },
	{ "alpine", "apk add capstone",
	  "\"apk info -W %1$s\" names its package: install that one's -dbg, then \"cprof symbolize "
	  "--in-place %2$s\"" },
	{ NULL, "its package is called capstone or libcapstone",
	  "install the debug files of %1$s, then \"cprof symbolize --in-place %2$s\"" },
};

/* Returns the row of the distribution that WORDS name first, or the last one. */
static const struct distribution *row_of(char *words)
{
	const struct distribution *d = known;
	char *word;

	while ((word = strsep(&words, " \"'\n")))
		for (d = known; d->id; d++)
			if (!strcmp(word, d->id))
				return d;
	while (d->id)
		d++;
	return d;
}

/* A distribution that isn't known may be like one that is: ID=linuxmint, ID_LIKE="ubuntu debian".
 */
static const struct distribution *distribution(void)
{
	FILE *f = fopen("/etc/os-release", "re");
	char line[256], id[256] = "", like[256] = "", *both;
	const struct distribution *d;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ID=%255s", id) != 1)
			sscanf(line, "ID_LIKE=%255[^\n]", like);
	if (f)
		fclose(f);
	both = ct_memory_printf("%s %s", id, like);
	d = row_of(both);
	free(both);
	return d;
}

const char *ct_distribution_capstone(void)
{
	return distribution()->capstone;
}

char *ct_distribution_debug_files(const char *module, const char *profile)
{
	return ct_memory_printf(distribution()->debug_files, module, profile);
}
