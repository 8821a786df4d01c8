/* Values as people write them in the environment: sizes, durations, signals, switches.
 *
 * Called while the settings are read. No allocation, no locale. Every function returns 0,
 * -EINVAL for text that is not of its kind, or -ERANGE; outputs are untouched on failure.
 */
#ifndef CP_CONFIG_VALUES_H
#define CP_CONFIG_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits, nothing else. -ERANGE above UINT64_MAX. */
int cp_value_number(const char *s, uint64_t *value);

/* "512K", "1.5M", "2G" (powers of 1024, either case) or bytes. */
int cp_value_size(const char *s, uint64_t *bytes);

/* "250ns", "10us", "1.5s", "2m", "1h", or a bare number of seconds. More than six digits behind
 * the point are -EINVAL; what is above zero never becomes zero. */
int cp_value_duration(const char *s, uint64_t *ns);

/* 0/1, no/yes, off/on, false/true, either case. */
int cp_value_bool(const char *s, bool *value);

/* "USR2", "SIGUSR2", "RTMIN+1", "RTMAX-2", "12", or "none" (0). -ERANGE for a signal that can't
 * be caught, that the C library or the sampler needs, or that reports a fault of the program. */
int cp_value_signal(const char *s, int *sig);

/* Index of S in NAMES (COUNT of them). */
int cp_value_choice(const char *s, const char *const *names, unsigned count, unsigned *index);

/* The reverse, for messages; always NUL-ended. */
void cp_value_signal_text(int sig, char *to, size_t size);
void cp_value_duration_text(uint64_t ns, char *to, size_t size);

#endif
