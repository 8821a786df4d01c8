/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampled blocks that are deleted when the heap mode is no longer on.
 *
 *     heap-stopped stop | fork | restart | exact | others
 */
#include <cstdlib>
#include <cstring>
#include <future>
#include <new>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cprof.h"

namespace
{
const std::size_t BLOCKS = 300000, SIZE = 64;

void fill(std::vector<char *> &all)
{
	for (auto &p : all) {
		p = static_cast<char *>(::operator new(SIZE));
		std::memset(p, 1, SIZE);
	}
}

void drop(const std::vector<char *> &all)
{
	for (auto *p : all)
		::operator delete(p, SIZE);
}

template <typename F> F *find(const char *name)
{
	return reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}

int in_child(std::vector<char *> &all)
{
	int status = 0;
	pid_t pid = fork();

	if (pid != 0)
		return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1;
	drop(all);
	fill(all);
	_exit(0);
}

/* A second run that has all blocks, at the addresses of the first run's. */
int after_exact(std::vector<char *> &all)
{
	auto *stop = find<int(int)>("cprof_stop_mode");
	auto *start = find<int(const struct cprof_options *)>("cprof_start");
	struct cprof_options o = CPROF_OPTIONS_INIT;

	o.heap_path = std::getenv("AGAIN");
	o.heap_interval = 1;
	if (!stop || !start || stop(CPROF_HEAP))
		return 2;
	drop(all);
	if (start(&o))
		return 2;
	fill(all);
	if (stop(CPROF_HEAP))
		return 2;
	drop(all);
	return 0;
}

/* A second run that has all, of a thread, too, that had begun to count bytes in the first one. */
int others_exact()
{
	auto *stop = find<int(int)>("cprof_stop_mode");
	auto *start = find<int(const struct cprof_options *)>("cprof_start");
	struct cprof_options o = CPROF_OPTIONS_INIT;
	std::vector<char *> some(10), more(1000);
	std::promise<void> begun, go;

	std::thread other([&] {
		fill(some);
		begun.set_value();
		go.get_future().wait();
		fill(more);
	});
	begun.get_future().wait();
	o.heap_path = std::getenv("AGAIN");
	o.heap_interval = 1;
	int error = !stop || !start || stop(CPROF_HEAP) || start(&o);
	go.set_value();
	other.join();
	return error || stop(CPROF_HEAP) ? 2 : 0;
}

int after_stop(std::vector<char *> &all, bool again)
{
	auto *stop = find<int(int)>("cprof_stop_mode");
	auto *start = find<int(const struct cprof_options *)>("cprof_start");
	struct cprof_options o = CPROF_OPTIONS_INIT;

	if (!stop || !start || stop(CPROF_HEAP))
		return 2;
	drop(all);
	if (again) {
		o.heap_path = std::getenv("AGAIN");
		o.heap_interval = 65536;
		int error = 0;

		/* The thread that starts it draws anew; this is another thread. */
		std::thread([&] { error = start(&o); }).join();
		if (error)
			return 3;
	}
	fill(all);
	drop(all);
	return 0;
}
} // namespace

int main(int argc, char **argv)
{
	std::vector<char *> all(BLOCKS);
	const char *how = argc > 1 ? argv[1] : "";

	fill(all);
	if (!std::strcmp(how, "others"))
		return others_exact();
	if (!std::strcmp(how, "exact"))
		return after_exact(all);
	return std::strcmp(how, "fork") ? after_stop(all, !std::strcmp(how, "restart"))
					: in_child(all);
}
