/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the fields of a protobuf message, or only counts their bytes: a message's size stands
 * before its contents. Used by otlp_encode.c.
 */
#ifndef CT_OTLP_OUT_H
#define CT_OTLP_OUT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ct_otlp_out {
	FILE *to; /* NULL: only count */
	uint64_t bytes;
	int error;
	uint8_t *message; /* one packed message */
	size_t message_room;
};

void ct_otlp_out_bytes(struct ct_otlp_out *o, unsigned field, const void *data, size_t n);
void ct_otlp_out_message(struct ct_otlp_out *o, unsigned field, const ProtobufCMessage *m);
/* The fields of M, without its own field number and size. */
void ct_otlp_out_fields(struct ct_otlp_out *o, const ProtobufCMessage *m);
/* The head of a message of SIZE bytes, which the caller writes. */
void ct_otlp_out_head(struct ct_otlp_out *o, unsigned field, uint64_t size);
/* Returns how many bytes such a head and the message have. */
uint64_t ct_otlp_out_whole(uint64_t size);

#endif
