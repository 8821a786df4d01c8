# SPDX-License-Identifier: BSD-3-Clause
# Checks of the sources, and of the objects and the library that were built.
SOURCE_CHECKS += \
	%D%/counting.sh \
	%D%/documented.sh \
	%D%/format.sh \
	%D%/headers.sh \
	%D%/includes.sh \
	%D%/licence.sh \
	%D%/mutants.sh \
	%D%/overhead-doc.sh \
	%D%/terminal.sh \
	%D%/tiers.sh \
	%D%/traps-documented.sh
BINARY_CHECKS += \
	%D%/abi.sh \
	%D%/exports.sh \
	%D%/names.sh \
	%D%/pipeline-symbols.sh \
	%D%/sigsafe-linked.sh \
	%D%/sigsafe-symbols.sh \
	%D%/tls.sh
