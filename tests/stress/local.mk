# SPDX-License-Identifier: BSD-3-Clause
# Storms and trials: make stress.
PROFILED += \
	%D%/attach-host \
	%D%/storm-host \
	%D%/trial-host
STRESS_TESTS += \
	%D%/attach.sh \
	%D%/control.sh \
	%D%/heap.sh \
	%D%/storm.sh \
	%D%/storms.sh \
	%D%/stress-ng.sh \
	%D%/trials.sh \
	%D%/waits.sh
%C%_storm_host_SOURCES = %D%/storm-host.cc
%C%_storm_host_CXXFLAGS = $(AM_CXXFLAGS) -fomit-frame-pointer
