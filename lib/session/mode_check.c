/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks before a mode starts; see session.h. */
#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/text.h"
#include "output/output.h"
#include "output/pprof.h"
#include "settings/settings.h"

/* Creates the temporary file of PATH, and removes it. Returns 0 or a negative errno. */
static int try(const char *path)
{
	static struct cp_file_sink f; /* large */
	int err = cp_sink_file_open(&f, path);

	if (!err)
		cp_sink_file_close(&f, true, true);
	return err;
}

/* Checks whether the file can be written, so that the user learns of an error at the start and not
 * after an hour. Returns 0 or a negative errno. */
static int check_path(const char *path)
{
	char directory[CP_PATH_MAX];
	struct stat st;
	char *slash;
	long err;

	err = cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
	if (err == 0)
		return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ? 0
		       : S_ISDIR(st.st_mode)			  ? -EISDIR
								  : -EINVAL;
	/* The path is too long even if its directory is fine. */
	if (err == -ENAMETOOLONG)
		return (int)err;
	cp_text_format(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash)
		return -EINVAL;
	slash[slash == directory] = '\0';
	/* Checks with the effective ids, which differ from the caller's in a set-user-id
	 * program. A sandbox may not know the call, and may answer anything then. */
	return cp_sys4(SYS_faccessat2, AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) ? try(path)
										     : 0;
}

int cp_mode_check_path(unsigned m, const char *template)
{
	char path[CP_PATH_MAX], name[CP_PATH_MAX];
	bool unique;
	int err = !cp_modes[m] ? -ENOSYS
			       : cp_path_expand(path, sizeof(path), template,
						cp_session.process_tree.base,
						&cp_session.facts.path, &unique);

	if (!err)
		err = cp_path_number(name, sizeof(name), path, 0);
	if (!err && !unique && (!cp_session.process_tree.owner || cp_runs_has_pid(m)))
		err = cp_path_process(name, sizeof(name), name, cp_sys_getpid(), 1);
	if (!err)
		err = cp_sink_file_check(name);
	return err ? err : check_path(name);
}

int cp_mode_check_added(const struct cp_config *c)
{

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		int err = c->path[m][0] && !c->nofile[m] ? cp_mode_check_path(m, c->path[m]) : 0;

		if (err)
			return err;
		if (c->path[m][0] && cp_session.config.path[m][0])
			return -EALREADY;
	}
	return 0;
}
