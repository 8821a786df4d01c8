/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings, with the environment played by a list and stderr caught in a pipe. */
#define OWN_MAIN
#include "harness.h"

#include "modes/cpu/cpu.h"
#include "modes/heap/heap.h"
#include "modes/lock/lock.h"
#include "modes/wall/wall.h"
#include "output/output.h"
#include "settings/settings.h"
#include "base/base.h"

#define MINUTE UINT64_C(60000000000)

static const char *const *environment; /* KEY=VALUE, .., NULL */
static struct cp_config config;
static const struct cp_cpu_settings *cpu_settings;
static const struct cp_wall_settings *wall_settings;
static const struct cp_heap_settings *heap_settings;
static const struct cp_lock_settings *lock_settings;
static char lines[8192];

static const char *look_up(const char *key)
{
	size_t n = strlen(key);

	for (const char *const *e = environment; *e; e++)
		if (!strncmp(*e, key, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* Reads the settings; the messages are in LINES. */
static void read_caught(void (*read_config)(struct cp_config *, const char *(*)(const char *)))
{
	int ends[2], saved = dup(2);
	ssize_t n;

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) || dup2(ends[1], 2) < 0)
		exit(99);
	cp_log_begin(); /* lines go to what was descriptor 2 then */
	read_config(&config, look_up);
	dup2(saved, 2);
	n = read(ends[0], lines, sizeof(lines) - 1);
	lines[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(saved);
}

static void read_list(const char *const *settings)
{
	environment = settings;
	read_caught(cp_config_read);
}
#define READ(...) read_list((const char *const[]){ __VA_ARGS__, NULL })

static bool shows(enum cp_heap_view view)
{
	return cp_heap_shows(heap_settings, view);
}

static int line_count(void)
{
	int n = 0;

	for (const char *p = lines; *p; p++)
		n += *p == '\n';
	return n;
}

/* SETTING gives one line that names it, and what is used instead. */
static void check_refused(const char *setting, const char *used)
{
	char want[64];

	READ("CPUPROFILE=out.pb", setting);
	CHECK_EQ(line_count(), 1);
	snprintf(want, sizeof(want), "; using %s\n", used);
	if (!strstr(lines, setting) || !strstr(lines, want) || !strstr(lines, ": accepted is "))
		CHECK_STR(lines, want);
}

static void check_quiet(const char *setting)
{
	READ("CPUPROFILE=out.pb", setting);
	CHECK_STR(lines, "");
}

TEST(test_every_setting_is_taken)
{
	READ("CPUPROFILE=/t/%p.pb", "CPUPROFILE_FREQUENCY=1000", "CPROF_CPU_ENGINE=timer",
	     "CPROF_UNWIND=fp", "CPROF_MAX_DEPTH=4096", "CPROF_CHECKPOINT=1.5m",
	     "CPROF_SIGNAL=RTMIN+1", "CPUPROFILESIGNAL=12", "CPROF_FOLLOW=no",
	     "CPROF_SYMBOLIZE=none", "CPROF_VERBOSE=1", "CPUPROFILE_USE_PID=1", "CPROF_ONLY=app*",
	     "CPROF_LABELS=a=b,c=");
	CHECK_STR(lines, "");
	CHECK_STR(config.path[CPROF_CPU], "/t/%p.pb");
	CHECK_EQ(cpu_settings->frequency, 1000);
	CHECK_EQ(cpu_settings->engine, CP_ENGINE_TIMER);
	CHECK_EQ(config.unwind, CP_UNWIND_FP);
	CHECK_EQ(config.max_depth, 4096);
	CHECK_EQ(config.checkpoint_ns, MINUTE + MINUTE / 2);
	CHECK_EQ(config.dump_signal, SIGRTMIN + 1);
	CHECK_EQ(config.toggle_signal, SIGUSR2);
	CHECK(!config.follow);
	CHECK_EQ(config.symbolize, CP_SYMBOLIZE_NONE);
	CHECK_EQ(config.verbose, 1);
	CHECK(config.use_pid);
	CHECK_STR(config.only, "app*");
	CHECK_STR(config.labels, "a=b,c=");
}

TEST(test_numbers_outside_become_the_nearest)
{
	check_refused("CPUPROFILE_FREQUENCY=10001", "10000");
	CHECK_EQ(cpu_settings->frequency, 10000);
	check_refused("CPUPROFILE_FREQUENCY=0", "1");
	check_refused("CPUPROFILE_FREQUENCY=99999999999999999999999", "10000");
	check_refused("CPROF_MAX_DEPTH=4097", "4096");
	check_refused("CPROF_MAX_DEPTH=0", "1");
	check_refused("CPROF_VERBOSE=2", "1");
	check_refused("CPROF_CHECKPOINT=9ms", "10ms");
	check_refused("CPROF_CHECKPOINT=0.1ns", "10ms");
	check_refused("CPROF_CHECKPOINT=9999999h", "8760h");
}

TEST(test_text_that_is_no_value_leaves_the_default)
{
	check_refused("CPUPROFILE_FREQUENCY=fast", "99");
	check_refused("CPUPROFILE_FREQUENCY=-5", "99");
	check_refused("CPUPROFILE_FREQUENCY=100 ", "99");
	check_refused("CPUPROFILE_FREQUENCY=100Hz", "99");
	check_refused("CPROF_CPU_ENGINE=hpet", "auto");
	check_refused("CPROF_UNWIND=magic", "auto");
	check_refused("CPROF_SYMBOLIZE=all", "full");
	check_refused("CPROF_FOLLOW=2", "1");
	check_refused("CPROF_CHECKPOINT=1x", "1m");
	check_refused("CPROF_CHECKPOINT=-1s", "1m");
	check_refused("CPROF_SIGNAL=KILL", "USR2");
	check_refused("CPUPROFILESIGNAL=PROF", "none");
	CHECK_EQ(config.toggle_signal, 0);
	check_refused("CPROF_LABELS=a", "no labels");
	check_refused("CPROF_LABELS==a", "no labels");
	check_refused("CPROF_LABELS=a=b,", "no labels");
	CHECK_STR(config.labels, "");
}

TEST(test_empty_is_not_set)
{
	check_quiet("CPUPROFILE_FREQUENCY=");
	check_quiet("CPROF_SIGNAL=");
	CHECK_EQ(config.dump_signal, SIGUSR2);
	READ("CPUPROFILE=");
	CHECK_STR(config.path[CPROF_CPU], "");
}

TEST(test_toggle_wins_over_the_default_dump_signal)
{
	check_quiet("CPUPROFILESIGNAL=USR2");
	CHECK_EQ(config.toggle_signal, SIGUSR2);
	CHECK_EQ(config.dump_signal, 0);
	READ("CPUPROFILE=out.pb", "CPUPROFILESIGNAL=USR1", "CPROF_SIGNAL=10");
	CHECK_EQ(line_count(), 1);
	CHECK_EQ(config.dump_signal, 0);
}

TEST(test_gperftools_switches)
{
	check_quiet("CPUPROFILE_PER_THREAD_TIMERS=1");
	check_quiet("CPUPROFILE_REALTIME=0");
	check_quiet("CPUPROFILE_TIMER_SIGNAL=27");
	check_refused("CPUPROFILE_TIMER_SIGNAL=26", "PROF");
}

TEST(test_every_mode_has_its_settings)
{
	READ("WALLPROFILE=/t/w", "WALLPROFILE_FREQUENCY=20", "HEAPPROFILE=/t/h",
	     "CPROF_HEAP_INTERVAL=1M", "HEAP_PROFILE_INUSE_INTERVAL=2G",
	     "HEAP_PROFILE_TIME_INTERVAL=10", "CPROF_HEAP_VIEWS=lifetimes,mmap",
	     "HEAPPROFILESIGNAL=USR1", "LOCKPROFILE=/t/l", "CPROF_LOCK_THRESHOLD=2ms");
	CHECK_STR(lines, "");
	CHECK(cp_config_any(&config));
	CHECK_STR(config.path[CPROF_CPU], "");
	CHECK_STR(config.path[CPROF_WALL], "/t/w");
	CHECK_STR(config.path[CPROF_HEAP], "/t/h");
	CHECK_STR(config.path[CPROF_LOCK], "/t/l");
	CHECK_EQ(wall_settings->frequency, 20);
	CHECK_EQ(heap_settings->interval, 1 << 20);
	CHECK_EQ(heap_settings->in_use, UINT64_C(2) << 30);
	CHECK_EQ(heap_settings->time_ns, MINUTE / 6);
	CHECK(shows(CP_HEAP_VIEW_MMAP) && shows(CP_HEAP_VIEW_LIFETIMES));
	CHECK(!shows(CP_HEAP_VIEW_RESIDENT) && !shows(CP_HEAP_VIEW_FRAGMENTATION));
	CHECK_EQ(config.heap_signal, SIGUSR1);
	CHECK_EQ(lock_settings->threshold_ns, 2000000);
}

TEST(test_realtime_turns_cpu_into_wall)
{
	READ("CPUPROFILE=/t/c", "CPUPROFILE_REALTIME=1", "CPUPROFILE_FREQUENCY=200");
	CHECK_STR(lines, "");
	CHECK_STR(config.path[CPROF_CPU], "");
	CHECK_STR(config.path[CPROF_WALL], "/t/c");
	CHECK_EQ(wall_settings->frequency, 200);
	CHECK_EQ(config.named_mode, CPROF_WALL);
}

TEST(test_realtime_is_for_a_later_start_too)
{
	READ("CPUPROFILE_REALTIME=1", "CPUPROFILE_FREQUENCY=200");
	CHECK(!cp_config_any(&config));
	CHECK_EQ(config.named_mode, CPROF_WALL);
	CHECK_EQ(wall_settings->frequency, 200);
	READ("CPUPROFILE_REALTIME=1", "WALLPROFILE=/t/w");
	CHECK_EQ(line_count(), 1);
	CHECK_EQ(config.named_mode, CPROF_CPU);
}

TEST(test_gperftools_heap_switches_hold_or_are_said)
{
	READ("HEAPPROFILE=/t/h", "HEAPPROFILE_USE_PID=1", "HEAP_PROFILE_MMAP=true");
	CHECK_STR(lines, "");
	CHECK(heap_settings->use_pid && !config.use_pid && shows(CP_HEAP_VIEW_MMAP));
	READ("HEAPPROFILE=/t/h", "HEAP_PROFILE_ONLY_MMAP=1", "HEAP_PROFILE_MMAP_LOG=1");
	CHECK_EQ(line_count(), 2);
	CHECK(shows(CP_HEAP_VIEW_MMAP));
}

/* Reads CPROF_HEAP_VIEWS=VALUE, with INTERVAL. Returns a bit for each view that is shown. */
static unsigned views_of(const char *value, const char *interval)
{
	static char views[64], bytes[64];
	unsigned shown = 0;

	snprintf(views, sizeof(views), "CPROF_HEAP_VIEWS=%s", value ? value : "");
	snprintf(bytes, sizeof(bytes), "CPROF_HEAP_INTERVAL=%s", interval);
	READ("HEAPPROFILE=/t/h", bytes, value ? views : NULL);
	for (unsigned v = CP_HEAP_VIEW_RESIDENT; v <= CP_HEAP_VIEW_MMAP; v++)
		shown |= (unsigned)shows(v) << v;
	return shown;
}

TEST(test_views_are_a_list)
{
	CHECK_EQ(views_of(NULL, "512K"), 1u << CP_HEAP_VIEW_RESIDENT);
	CHECK_EQ(views_of(NULL, "1"), 0);
	CHECK_EQ(views_of("resident", "1"), 1u << CP_HEAP_VIEW_RESIDENT);
	CHECK_EQ(views_of("mmap,resident,fragmentation,lifetimes", "512K"), 15);
	CHECK_EQ(views_of("none", "512K"), 0);
	CHECK_EQ(views_of("", "512K"), 0);
	CHECK_STR(lines, "");
}

TEST(test_a_view_that_does_not_exist_is_said)
{
	static const char *const bad[] = { "lifetime", "resident,", "none,mmap", "mmap, resident",
					   "mmap,lifetimes,heap" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_EQ(views_of(bad[i], "512K"), 1u << CP_HEAP_VIEW_RESIDENT);
		CHECK_EQ(line_count(), 1);
	}
	CHECK(strstr(lines,
		     "CPROF_HEAP_VIEWS=mmap,lifetimes,heap: accepted is resident, lifetimes, "
		     "fragmentation and mmap, with commas, or none; using the default"));
}

TEST(test_marked_paths_lose_the_mark)
{
	READ("CPUPROFILE=\xaft/c", "HEAPPROFILE=\xc3\xa9");
	CHECK_STR(config.path[CPROF_CPU], "/t/c");
	CHECK_STR(config.path[CPROF_HEAP], "\xc3\xa9");
}

TEST(test_modes_with_one_path_get_a_file_each)
{
	READ("CPUPROFILE=/t/c.%n.pb", "HEAPPROFILE=/t/c.%n.pb", "LOCKPROFILE=/t/c.%n.pb");
	CHECK_STR(config.path[CPROF_CPU], "/t/c.%n.pb");
	CHECK_STR(config.path[CPROF_HEAP], "/t/c.%n.heap.pb");
	CHECK_STR(config.path[CPROF_LOCK], "/t/c.%n.lock.pb");
	CHECK_EQ(line_count(), 2);
}

TEST(test_nothing_is_said_without_a_mode)
{
	READ("CPUPROFILE_FREQUENCY=bad", "CPROF_SIGNAL=KILL");
	CHECK_STR(lines, "");
	environment = (const char *const[]){ "CPUPROFILE=x", "CPROF_SIGNAL=KILL", NULL };
	read_caught(cp_config_read_quietly);
	CHECK_STR(lines, "");
	CHECK_STR(config.path[CPROF_CPU], "x");
}

TEST(test_what_dumps_are_made_on)
{
	struct cp_trigger t[CP_TRIGGERS];

	READ("CPUPROFILE=out.pb", "CPROF_DUMP_ON=span>500ms,span:a>b>2s,rss>80%,rss>1.5M");
	CHECK_STR(lines, "");
	CHECK(config.times == (CP_CONFIG_TIMES_KEEP | CP_CONFIG_TIMES_DUMP_ON));
	CHECK_EQ(cp_triggers_parse(config.dump_on, t), 0);
	CHECK(!t[0].span[0] && !t[0].is_memory);
	CHECK_EQ(t[0].more_than, 500000000);
	CHECK_STR(t[1].span, "a>b");
	CHECK(t[2].is_memory && t[2].percent && t[3].is_memory && !t[3].percent);
	CHECK_EQ(t[3].more_than, 3 << 19);
	CHECK_EQ(t[4].more_than, 0);
	READ("CPUPROFILE=out.pb", "CPROF_DUMP_ON=rss>2G", "CPROF_TIMES=1M");
	CHECK_EQ(config.times, 1 << 20);
	for (const char *const *bad =
		     (const char *const[]){ "span", "span>", "span>0", "span>2x", "span:>1s",
					    "rss>0%", "rss>101%", "rss>0", "rss<2G", "heap>2G",
					    "rss>1G,,rss>2G", NULL };
	     *bad; bad++) {
		char setting[64];

		snprintf(setting, sizeof(setting), "CPROF_DUMP_ON=%s", *bad);
		check_refused(setting, "no such dumps");
	}
}

TEST(test_a_bad_value_makes_one_short_line)
{
	char setting[3000] = "CPUPROFILE_FREQUENCY=a\nb\033";

	memset(setting + strlen(setting), 'x', 2900);
	setting[2900] = '\0';
	READ("CPUPROFILE=out.pb", setting);
	CHECK_EQ(line_count(), 1);
	CHECK(strlen(lines) < 200);
	CHECK(strstr(lines, "=a?b?xx"));
	CHECK(strstr(lines, "...: accepted"));
}

TEST(test_text_that_does_not_fit_is_left_out)
{
	static char path[5000] = "CPUPROFILE=";

	memset(path + strlen(path), 'p', 4096);
	READ(path);
	CHECK_EQ(line_count(), 1);
	CHECK_STR(config.path[CPROF_CPU], "");
	path[strlen(path) - 1] = '\0';
	READ(path);
	CHECK_EQ(line_count(), 0);
	CHECK_EQ(strlen(config.path[CPROF_CPU]), 4095);
}

static bool wants(const char *only, const char *program)
{
	snprintf(config.only, sizeof(config.only), "%s", only);
	return cp_config_wants_program(&config, program);
}

TEST(test_programs_are_chosen_by_globs)
{
	CHECK(wants("", "anything"));
	CHECK(wants("app", "app") && !wants("app", "apple") && !wants("apple", "app"));
	CHECK(wants("x,app", "app") && wants("x,,app*", "apple") && !wants(",", ""));
	CHECK(wants("*", "") && wants("a*c*e", "abcde") && !wants("a*c*f", "abcde"));
	CHECK(wants("a*bc", "abxbc") && wants("**a**", "xay"));
	CHECK(wants("p?thon", "python") && !wants("p?thon", "pthon"));
	CHECK(wants("python[0-9]", "python3") && !wants("python[0-9]", "pythonx"));
	CHECK(wants("a[!0-9]", "ax") && !wants("a[!0-9]", "a1") && wants("[]x]", "]"));
	CHECK(wants("a[b", "a[b") && !wants("a[b", "ab"));
	CHECK(wants("a[b-]", "a-"));
}

int main(void)
{
	cp_mode_ops_set(cp_modes);
	cpu_settings = cp_config_of(&config, CPROF_CPU);
	wall_settings = cp_config_of(&config, CPROF_WALL);
	heap_settings = cp_config_of(&config, CPROF_HEAP);
	lock_settings = cp_config_of(&config, CPROF_LOCK);
	harness_all();
	return harness_end();
}
