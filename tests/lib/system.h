/* SPDX-License-Identifier: BSD-3-Clause */
/* The system's headers that most programs of the tests need: host.h and harness.h include it. */
#ifndef TESTS_SYSTEM_H
#define TESTS_SYSTEM_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef __GLIBC__
#include "musl.h"
#endif

#endif
