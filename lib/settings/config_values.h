/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses values as people write them in the environment: sizes, durations, signals, switches.
 *
 * Called while the settings are read. No allocation, no locale. Every parser returns 0, -EINVAL
 * for text that is not of its kind, or -ERANGE; outputs are unchanged on failure.
 */
#ifndef CP_CONFIG_VALUES_H
#define CP_CONFIG_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. -ERANGE above UINT64_MAX. */
int cp_config_values_number(const char *s, uint64_t *value);

/* "512K", "1.5M", "2G" (powers of 1024, either case), or a number of bytes. */
int cp_config_values_size(const char *s, uint64_t *bytes);

/* "250ns", "10us", "1.5s", "2m", "1h", or a bare number of seconds. More than six digits after the
 * point are -EINVAL. A value above zero never becomes zero. */
int cp_config_values_duration(const char *s, uint64_t *ns);

/* 0/1, no/yes, off/on, false/true, either case. */
int cp_config_values_bool(const char *s, bool *value);

/* Read a signal into *SIG: "USR2", "SIGUSR2", "RTMIN+1", "RTMAX-2", "12", or "none" (0). Returns
 * -ERANGE for a signal that can't be caught, that the C library or the sampler needs, or that
 * reports a fault of the program. */
int cp_config_values_signal(const char *s, int *sig);

/* Sets *INDEX to the index of S in NAMES, which has COUNT items. */
int cp_config_values_choice(const char *s, const char *const *names, unsigned count,
			    unsigned *index);

/* The reverse, for messages. The text always ends with NUL. */
void cp_config_values_signal_text(int sig, char *to, size_t size);
void cp_config_values_duration_text(uint64_t ns, char *to, size_t size);

/* Returns whether S is key=value pairs separated by commas, without an empty key. */
bool cp_config_values_are_labels(const char *s);

#endif
