# SPDX-License-Identifier: BSD-3-Clause
# make bench; each by itself, too.
BENCHES += \
	%D%/unwind
BENCH_RUNS += \
	%D%/accuracy.sh \
	%D%/dump.sh \
	%D%/edges.sh \
	%D%/ends.sh \
	%D%/engine-cost.sh \
	%D%/flame.sh \
	%D%/growth.sh \
	%D%/heap-fragmentation.sh \
	%D%/heap-memory.sh \
	%D%/heap-redis.sh \
	%D%/heap.sh \
	%D%/io.sh \
	%D%/lock.sh \
	%D%/overhead.sh \
	%D%/programs.sh \
	%D%/symbolize.sh \
	%D%/tool.sh \
	%D%/unwind.sh \
	%D%/views.sh \
	%D%/wall.sh
BENCH_HELPERS += \
	%D%/heap-pair
TOOL_BENCH += \
	%D%/address-profile \
	%D%/big-profile
%C%_address_profile_CPPFLAGS = $(TOOL_CPPFLAGS)
%C%_address_profile_CFLAGS = $(TOOL_CFLAGS)
%C%_address_profile_LDADD = $(TOOL_LIBRARY)
%C%_big_profile_CPPFLAGS = $(TOOL_CPPFLAGS)
%C%_big_profile_CFLAGS = $(TOOL_CFLAGS)
%C%_big_profile_LDADD = $(TOOL_LIBRARY)
%C%_unwind_CFLAGS = $(AM_CFLAGS) -fomit-frame-pointer
%C%_unwind_LDADD = $(INTERNAL)
