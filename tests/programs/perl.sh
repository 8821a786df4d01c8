# SPDX-License-Identifier: BSD-3-Clause
about="perl: words counted, sorted, matched; threads where perl has them; children"
packages="perl"
needs="perl"

prepare() {
	cat >words.pl <<'EOF'
use strict; use warnings; use Config; use Digest::SHA qw(sha1_hex); use Storable qw(freeze thaw);
srand(7);
my @words = map { sprintf "w%x", int rand 1 << 20 } 1 .. 20000;
my %count;
for my $round (1 .. 6) {
	my $text = join " ", map { $words[rand(@words) * rand()] } 1 .. 60000;
	$count{$1}++ while $text =~ /(w[0-9a-f]+)/g;
}
my @table = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @table[0 .. 20];
print sha1_hex(join ",", map { "$_=$count{$_}" } @table), "\n";
my $again = thaw(freeze(\%count));
print scalar(keys %$again), "\n";
for (1 .. 5) { my $pid = fork; if (!$pid) { my $n = () = "@table" =~ /w(\d+)/g; print STDERR "child $_: $n\n"; exit $_ } waitpid $pid, 0; print $? >> 8, "\n" }
print `echo from a shell`;
if ($Config{useithreads}) {
	require threads;
	my @t = map { my $n = $_; threads->create(sub { my $x = 0; $x += $_ % $n for 1 .. 200000; $x }) } 3 .. 7;
	print $_->join, "\n" for @t;
}
eval { die { code => 42 } }; print $@->{code}, "\n";
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; 1 while 1 }; print $@;
exit 3;
EOF
}

load() {
	PERL_HASH_SEED=0 run perl "$shared/words.pl"
	echo "status $?"
	run perl -V | grep -c .
}

verify() {
	has cpu 'Perl_(runops|pp_|sv_|hv_).*;perl_run;.*_start$'
	has heap 'Perl_.*;perl_run;.*_start$'
}
