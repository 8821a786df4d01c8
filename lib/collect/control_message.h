/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks requests that come over the control socket, and makes replies; see base/control.h. Any
 * context.
 */
#ifndef CP_CONTROL_MESSAGE_H
#define CP_CONTROL_MESSAGE_H

#include <stddef.h>

#include "base/control.h"

/* Check the first GOT bytes of M, which were received. Returns 0; -EPROTO for a request of another
 * version; or -EBADMSG for anything that is no request. */
int cp_control_message_check(const struct cp_control_message *m, size_t got);
/* Make M a reply with RESULT and no text. */
void cp_control_message_reply(struct cp_control_message *m, int result);
/* Add a line to the text of reply M. A control character in a value becomes "?". A line that
 * doesn't fit is left out. */
void cp_control_message_text(struct cp_control_message *m, const char *key, const char *value);
void cp_control_message_number(struct cp_control_message *m, const char *key, uint64_t value);

#endif
