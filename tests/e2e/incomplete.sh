# SPDX-License-Identifier: BSD-3-Clause
# Stacks that end early are counted, and the module in whose code they end is named: in the comments and,
# with CPROF_VERBOSE=1, at the end.
. "$srcdir/tests/lib/e2e.sh"

$CC -dumpmachine | grep -q '^x86_64' || skip "x86_64 assembly"
# Code without a description that puts its return address away: nothing can be known of its caller.
cat >"$work/dark.s" <<'END'
	.text
	.globl dark
	.type dark, @function
dark:	pop %rdx
	push %rbp
	push %rbx
	mov $0x1111, %ebp
	mov $0x1111, %ebx
	xor %eax, %eax
	push %rax
	push %rax
1:	dec %rdi
	jnz 1b
	pop %rax
	pop %rax
	pop %rbx
	pop %rbp
	push %rdx
	ret
	.size dark, . - dark
	.section .note.GNU-stack,"",@progbits
END
cat >"$work/main.c" <<'END'
void dark(unsigned long n);
int main(void)
{
	for (int i = 0; i < 1000; i++)
		dark(1000000);
	return 0;
}
END
$CC -shared "$work/dark.s" -o "$work/libdark.so" &&
	$CC -O2 "$work/main.c" "$work/libdark.so" -Wl,-rpath,"$work" -o "$work/main" ||
	fail "the program could not be built"
CPROF_VERBOSE=1 CPUPROFILE_FREQUENCY=500 ends_well profiled dark "$work/main"
check_valid "$work/dark.pb"
check_stack "$work/dark.pb" 'dark;\[incomplete\]'
check_comment "$work/dark.pb" 'stacks: .* [1-9][0-9]* incomplete'
check_comment "$work/dark.pb" '^incomplete stacks end in: libdark.so [1-9][0-9]* \(at \+0x[0-9a-f]*\)'
grep -q '^libcprof: .*incomplete stacks end in: libdark.so' "$work/dark.err" ||
	fail "not said at the end: $(cat "$work/dark.err")"
# Whole stacks: not a word of it.
CPROF_VERBOSE=1 profiled whole ./tests/e2e/accuracy-host 0.3 1
"$pprof_check" --comments "$work/whole.pb" | grep 'incomplete stacks end in' &&
	fail "a module is named although all stacks are whole"
finish
