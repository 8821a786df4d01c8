/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, durations, signals and switches from text. */
#include "harness.h"

#include "settings/settings.h"

static long long size_of(const char *s)
{
	uint64_t v = 0;
	int err = cp_config_values_size(s, &v);

	return err ? err : (long long)v;
}

static long long duration_of(const char *s)
{
	uint64_t v = 0;
	int err = cp_config_values_duration(s, &v);

	return err ? err : (long long)v;
}

static long long signal_of(const char *s)
{
	int sig = -1, err = cp_config_values_signal(s, &sig);

	return err ? err : sig;
}

static int bool_of(const char *s)
{
	bool v = false;
	int err = cp_config_values_bool(s, &v);

	return err ? err : v;
}

TEST(test_sizes)
{
	CHECK_EQ(size_of("1"), 1);
	CHECK_EQ(size_of("512K"), 524288);
	CHECK_EQ(size_of("2m"), 2 << 20);
	CHECK_EQ(size_of("1.5G"), 3ll << 29);
	CHECK_EQ(size_of("0"), 0);
	CHECK_EQ(size_of("K"), -EINVAL);
	CHECK_EQ(size_of("1KB"), -EINVAL);
	CHECK_EQ(size_of("1s"), -EINVAL);
	CHECK_EQ(size_of("1 K"), -EINVAL);
	CHECK_EQ(size_of(""), -EINVAL);
	CHECK_EQ(size_of("99999999999G"), -ERANGE);
}

TEST(test_durations)
{
	CHECK_EQ(duration_of("250ns"), 250);
	CHECK_EQ(duration_of("10us"), 10000);
	CHECK_EQ(duration_of("1ms"), 1000000);
	CHECK_EQ(duration_of("1.5s"), 1500000000);
	CHECK_EQ(duration_of("0.25"), 250000000);
	CHECK_EQ(duration_of("2m"), 120000000000);
	CHECK_EQ(duration_of("1h"), 3600000000000);
	CHECK_EQ(duration_of("1.000001h"), 3600003600000);
	CHECK_EQ(duration_of("60"), 60000000000);
	CHECK_EQ(duration_of("0"), 0);
	CHECK_EQ(duration_of("0.1ns"), 1);
	CHECK_EQ(duration_of("1."), -EINVAL);
	CHECK_EQ(duration_of("1.s"), -EINVAL);
	CHECK_EQ(duration_of(".5s"), -EINVAL);
	CHECK_EQ(duration_of("1.0000001s"), -EINVAL);
	CHECK_EQ(duration_of("1d"), -EINVAL);
	CHECK_EQ(duration_of("-1s"), -EINVAL);
	CHECK_EQ(duration_of("18446744074s"), -ERANGE);
	CHECK_EQ(duration_of("99999999999999999999s"), -ERANGE);
}

TEST(test_signals)
{
	CHECK_EQ(signal_of("USR2"), SIGUSR2);
	CHECK_EQ(signal_of("SIGUSR2"), SIGUSR2);
	CHECK_EQ(signal_of("sigusr1"), SIGUSR1);
	CHECK_EQ(signal_of("12"), 12);
	CHECK_EQ(signal_of("none"), 0);
	CHECK_EQ(signal_of("RTMIN"), SIGRTMIN);
	CHECK_EQ(signal_of("RTMIN+1"), SIGRTMIN + 1);
	CHECK_EQ(signal_of("SIGRTMAX-2"), SIGRTMAX - 2);
	CHECK_EQ(signal_of("64"), 64);
	CHECK_EQ(signal_of("RTMIN+"), -EINVAL);
	CHECK_EQ(signal_of("RTMIN-1"), -EINVAL);
	CHECK_EQ(signal_of("RTMIN+60"), -ERANGE);
	CHECK_EQ(signal_of("RTMIN+4294967295"), -ERANGE);
	CHECK_EQ(signal_of("SIGNONSENSE"), -EINVAL);
	CHECK_EQ(signal_of("12x"), -EINVAL);
	CHECK_EQ(signal_of("0"), -ERANGE);
	CHECK_EQ(signal_of("4294967308"), -ERANGE);
}

TEST(test_signals_that_others_need)
{
	static const char *const kept[] = { "KILL", "STOP", "PROF", "27",  "32", "33",	    "SEGV",
					    "BUS",  "FPE",  "ABRT", "ILL", "9",	 "SIGSTOP", "65" };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		CHECK_EQ(signal_of(kept[i]), -ERANGE);
}

TEST(test_switches)
{
	CHECK_EQ(bool_of("1"), 1);
	CHECK_EQ(bool_of("yes"), 1);
	CHECK_EQ(bool_of("ON"), 1);
	CHECK_EQ(bool_of("0"), 0);
	CHECK_EQ(bool_of("No"), 0);
	CHECK_EQ(bool_of("off"), 0);
	CHECK_EQ(bool_of("01"), -EINVAL);
	CHECK_EQ(bool_of(""), -EINVAL);
}

TEST(test_outputs_stay_on_failure)
{
	uint64_t v = 5;
	int sig = 5;
	bool on = true;

	CHECK_EQ(cp_config_values_number("7 ", &v), -EINVAL);
	CHECK_EQ(cp_config_values_size("7x", &v), -EINVAL);
	CHECK_EQ(cp_config_values_duration("7.x", &v), -EINVAL);
	CHECK_EQ(v, 5);
	CHECK_EQ(cp_config_values_signal("KILL", &sig), -ERANGE);
	CHECK_EQ(cp_config_values_signal("RTMIN+70", &sig), -ERANGE);
	CHECK_EQ(sig, 5);
	CHECK_EQ(cp_config_values_bool("maybe", &on), -EINVAL);
	CHECK(on);
}

TEST(test_text_of_values)
{
	char to[16];

	cp_config_values_signal_text(SIGUSR2, to, sizeof(to));
	CHECK_STR(to, "USR2");
	cp_config_values_signal_text(0, to, sizeof(to));
	CHECK_STR(to, "none");
	cp_config_values_signal_text(40, to, sizeof(to));
	CHECK_STR(to, "40");
	cp_config_values_duration_text(60000000000, to, sizeof(to));
	CHECK_STR(to, "1m");
	cp_config_values_duration_text(1500000000, to, sizeof(to));
	CHECK_STR(to, "1500ms");
	cp_config_values_duration_text(0, to, sizeof(to));
	CHECK_STR(to, "0");
}
