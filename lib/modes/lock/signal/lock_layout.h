/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of glibc's mutexes, which is part of its ABI. */
#ifndef CP_LOCK_LAYOUT_H
#define CP_LOCK_LAYOUT_H

/* Bits of a mutex's kind; the type is in the low two bits. */
#define CP_LOCK_MUTEX_TYPE 3
#define CP_LOCK_MUTEX_RECURSIVE 1
#define CP_LOCK_MUTEX_ADAPTIVE 3
#define CP_LOCK_MUTEX_ROBUST 16
#define CP_LOCK_MUTEX_INHERITS 32
#define CP_LOCK_MUTEX_PROTECTS 64
/* Its word is 0, 1 or, if a thread waits, 2. With PROTECTS, it has these bits, too; with ROBUST or
 * INHERITS it is the owner's tid. */
#define CP_LOCK_WORD_CEILING 0xfff80000u
#define CP_LOCK_WORD_WAITERS 0x80000000u

#endif
