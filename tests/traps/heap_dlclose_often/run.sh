# SPDX-License-Identifier: BSD-3-Clause
# Trap: after each dlclose every stack is kept anew, until there is no memory for any; or, where that is spared,
# one plugin's blocks get the name of another that came to the same address, maybe before dlclose has returned.
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_INTERVAL=1

cat >"$work/plugin.c" <<'END_OF_PLUGIN'
#include <stdlib.h>
__attribute__((noinline)) static int NAME(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(100);
		free(p);
	}
	return n;
}
int plugin_run(int n) { return NAME(n) + 1; }
END_OF_PLUGIN
# The same code; the loader puts a module where its file says, if nobody is there.
for name in first second; do
	$CC -O1 -fno-builtin -shared -fPIC -Wl,-Ttext-segment=0x200000000000 -DNAME=in_$name \
		-o "$work/$name.so" "$work/plugin.c" || exit 1
done

cat >"$work/often.c" <<'END_OF_HOST'
#include <dlfcn.h>
#include <stdlib.h>
static __attribute__((noinline)) int stacks(unsigned path, int depth)
{
	void *volatile p = malloc(16);
	free(p);
	if (!depth)
		return 1;
	return path & 1 ? stacks(path >> 1, depth - 1) + 1 : stacks(path >> 1, depth - 1) + 2;
}
/* often ROUNDS CALLS MODULE... */
int main(int argc, char **argv)
{
	for (int round = 0; round < atoi(argv[1]); round++)
		for (int i = 3; i < argc; i++) {
			void *h = dlopen(argv[i], RTLD_NOW);
			int (*run)(int) = h ? (int (*)(int))dlsym(h, "plugin_run") : NULL;
			if (!run)
				return 1;
			run(atoi(argv[2]) * (i - 2));
			dlclose(h);
			stacks((unsigned)round, 6);
		}
	return 0;
}
END_OF_HOST
$CC -O1 -fno-builtin -fno-optimize-sibling-calls -o "$work/often" "$work/often.c" -ldl || exit 1

# A program with a list of modules of its own, made before there were plugins.
cat >"$work/cached.c" <<'END_OF_CACHE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
static struct dl_phdr_info infos[64];
static int count;
static int keep(struct dl_phdr_info *info, size_t size, void *unused)
{
	if (count < 64)
		infos[count++] = *info;
	return 0;
}
__attribute__((constructor)) static void fill(void)
{
	int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *) = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	real(keep, 0);
}
int dl_iterate_phdr(int (*f)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	int result = 0;
	for (int i = 0; i < count && !result; i++)
		result = f(&infos[i], sizeof(infos[i]), arg);
	return result;
}
END_OF_CACHE
$CC -O1 -w -rdynamic -fno-builtin -fno-optimize-sibling-calls -o "$work/cached" "$work/often.c" "$work/cached.c" -ldl || exit 1

cat >"$work/meanwhile.c" <<'END_OF_HOST'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
static struct {
	const char *path;
	int calls;
} volatile visits[2];
static sem_t go, done;
static void *module, *armed;

/* Who asks for the modules is the profiler, in the midst of a dlclose. */
int dl_iterate_phdr(int (*f)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	if (!next)
		next = (int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(
			RTLD_NEXT, "dl_iterate_phdr");
	if (armed && !dladdr(armed, &(Dl_info){ 0 })) {
		armed = NULL;
		sem_post(&go);
		sem_wait(&done);
	}
	return next(f, arg);
}

static void *work(void *arg)
{
	for (int i = 0; i < 2; i++) {
		sem_wait(&go);
		module = dlopen(visits[i].path, RTLD_NOW);
		int (*run)(int) = module ? (int (*)(int))dlsym(module, "plugin_run") : NULL;
		if (!run)
			exit(1);
		/* Both from here, with the same stack. */
		run(visits[i].calls);
		sem_post(&done);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	if (argc != 3)
		return 1;
	for (int i = 0; i < 2; i++) {
		visits[i].path = argv[i + 1];
		visits[i].calls = 100 * (i + 1);
	}
	pthread_create(&t, NULL, work, NULL);
	sem_post(&go);
	sem_wait(&done);
	armed = dlsym(module, "plugin_run");
	dlclose(module);
	/* Nobody asked: then there is nothing to see. */
	if (armed)
		return 77;
	pthread_join(t, NULL);
	return 0;
}
END_OF_HOST
$CC -O1 -fno-builtin -rdynamic -o "$work/meanwhile" "$work/meanwhile.c" -ldl -pthread || exit 1

kept() { "$pprof_check" --comments "$1" | sed -n 's/^cost: \([0-9]*\) kB for stacks.*/\1/p'; }

# 64 different stacks and the loader's take one MiB; in 3000 epochs, eight and more.
for calls in 0 1; do
	runs_well heap_profiled same "$work/often" 3000 $calls "$work/first.so"
	check_comment "$work/same.pb" '^samples: .* lost: 0 no memory'
	[ "$(kept "$work/same.pb")" -le 3600 ] ||
		fail "$(kept "$work/same.pb") kB for the same stacks and $calls of a plugin"
done

for host in often cached; do
	runs_well heap_profiled $host "$work/$host" 50 1 "$work/first.so" "$work/second.so"
	check_heap "$work/$host.pb"
	[ "$(heap_values "$work/$host.pb" '(^|;)in_first;')" = "50 5000 0 0" ] ||
		fail "$host, first: $(heap_values "$work/$host.pb" '(^|;)in_first;')"
	[ "$(heap_values "$work/$host.pb" '(^|;)in_second;')" = "100 10000 0 0" ] ||
		fail "$host, second: $(heap_values "$work/$host.pb" '(^|;)in_second;')"
done

runs_well heap_profiled meanwhile "$work/meanwhile" "$work/first.so" "$work/second.so"
[ "$(heap_values "$work/meanwhile.pb" '(^|;)in_first;')" = "100 10000 0 0" ] ||
	fail "before: $(heap_values "$work/meanwhile.pb" '(^|;)in_first;')"
[ "$(heap_values "$work/meanwhile.pb" '(^|;)in_second;')" = "200 20000 0 0" ] ||
	fail "meanwhile: $(heap_values "$work/meanwhile.pb" '(^|;)in_second;')"
finish
