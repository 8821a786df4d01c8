# SPDX-License-Identifier: BSD-3-Clause
about="postgres: initdb, its server with parallel queries, indices, 4 writers at once, SIGINT"
packages="postgresql-15 python3"
needs="python3"
interval=512
# Its processes use SIGUSR2 themselves, and a line would say so.
more=(CPROF_SIGNAL=none)

# Debian keeps the server's programs out of PATH.
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
[ -x "$bin/postgres" ] || needs="postgres-server"

# It doesn't run as root: then its user is nobody, who must be able to read the library, and to write profiles.
if [ "$(id -u)" = 0 ]; then as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups); else as_user=(env); fi

prepare() {
	cat >load.sql <<'EOF'
set max_parallel_workers_per_gather = 2; set min_parallel_table_scan_size = 0; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
create table t(a int primary key, b int, c text);
insert into t select i, i * 7919 % 10007, format('row %s of %s', i, md5(i::text)) from generate_series(1, 15000) i;
create index on t(b);
create index on t using gin (to_tsvector('simple', c));
analyze t;
select count(distinct b), sum(a::bigint * b % 13), max(c) from t;
select b % 10, count(*), sum(length(c)) from t group by 1 order by 1;
select count(*) from t x join t y on x.b = y.a where y.c like '%a1%';
select sum((jsonb_build_object('k', a)->>'k')::int) from t;
select count(*) from t where to_tsvector('simple', c) @@ 'row'::tsquery;
with recursive f(n, x, y) as (select 1, 0::numeric, 1::numeric union all select n + 1, y, x + y from f where n < 300) select max(x) from f;
do $$ declare s bigint := 0; begin for i in 1..50000 loop s := s + i % 7; end loop; raise notice 'sum %', s; end $$;
update t set c = upper(c) where b % 3 = 0;
delete from t where b % 5 = 0;
vacuum full t;
select count(*), sum(hashtext(c)) from t;
select * from nowhere;
EOF
	chmod -R a+rX "$shared" "$work"
}

ask() {
	"$bin/psql" -X -q -h "$PWD" -p 5432 -U tester -d postgres -At "$@"
}

answers() {
	[ "$(ask -c 'select 1')" = 1 ]
}

writers() {
	ask -c 'create table w(a int, b text); create table n(v int); insert into n values (0)'
	for i in 1 2 3 4; do
		{
			for j in $(seq 15); do
				echo "begin; insert into w select $i, repeat('x', $j * 10); update n set v = v + 1; commit;"
			done
		} | ask -f - &
		clients="${clients:-} $!"
	done
	wait $clients
	ask -c 'select count(*), sum(length(b)) from w; select v from n'
}

load() {
	mkdir data && chmod 700 data && chmod a+rwx .
	[ "$(id -u)" != 0 ] || chown nobody data
	run "$bin/initdb" -D "$PWD/data" -U tester --no-sync -E UTF8 --locale=C.UTF-8 >initdb.out 2>initdb.err
	echo "initdb: $?"
	serve "$bin/postgres" -D "$PWD/data" -k "$PWD" -c listen_addresses= -c shared_buffers=16MB -c fsync=off
	wait_for answers
	ask -f "$shared/load.sql" 2>&1
	writers
	stop_server INT
	# FATAL it is for a client, too, that asks before it is ready.
	! grep -E 'PANIC|terminated by signal|crash' server.err
}

verify() {
	has cpu 'PostgresMain;'
	has cpu 'ParallelQueryMain;'
	has heap 'AllocSetAlloc|palloc|AllocSetContextCreate'
}
