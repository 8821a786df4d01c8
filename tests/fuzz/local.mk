# SPDX-License-Identifier: BSD-3-Clause
# Fuzzers; their seeds are in seeds/<fuzzer>.
FUZZERS += \
	%D%/fuzz-cfi \
	%D%/fuzz-config \
	%D%/fuzz-control \
	%D%/fuzz-demangle \
	%D%/fuzz-elf \
	%D%/fuzz-environment \
	%D%/fuzz-labels \
	%D%/fuzz-maps \
	%D%/fuzz-requests
TOOL_FUZZERS += \
	%D%/fuzz-dwarf \
	%D%/fuzz-profile
if !AARCH64
TOOL_FUZZERS += %D%/fuzz-seccomp
endif
%C%_fuzz_dwarf_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_fuzz_dwarf_CFLAGS = $(TOOL_CFLAGS)
%C%_fuzz_dwarf_LDADD = $(TOOL_LIBRARY)
%C%_fuzz_profile_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_fuzz_profile_CFLAGS = $(TOOL_CFLAGS)
%C%_fuzz_profile_LDADD = $(TOOL_LIBRARY)
%C%_fuzz_seccomp_CPPFLAGS = $(TOOL_TEST_CPPFLAGS)
%C%_fuzz_seccomp_CFLAGS = $(TOOL_CFLAGS)
%C%_fuzz_seccomp_LDADD = $(TOOL_LIBRARY)
