# SPDX-License-Identifier: BSD-3-Clause
about="sqlite3: tables, indices, joins, json, text search, a vacuum"
packages="sqlite3"
needs="sqlite3"

prepare() {
	cat >load.sql <<'EOF'
create table t(a integer primary key, b, c text);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 60000)
insert into t select x, x * 7919 % 10007, printf('row %d of %x', x, x * 31) from n;
create index i on t(b);
create index j on t(c);
select count(distinct b), sum(a * b % 13), max(c) from t;
select b % 10, count(*), group_concat(a % 7, '') from t where a < 2000 group by 1 order by 1;
select count(*) from t x join t y on x.b = y.a where y.c like '%of 1%';
select sum(json_extract(json_object('k', a, 'v', c), '$.k')) from t;
create virtual table f using fts5(c);
insert into f select c from t where a <= 5000;
select count(*) from f where f match 'row';
update t set c = upper(c) where b % 3 = 0;
delete from t where b % 5 = 0;
select count(*), sum(length(c)) from t;
explain query plan select * from t where c = 'x';
pragma integrity_check;
vacuum;
select * from nowhere;
EOF
}

load() {
	run sqlite3 disk.db <"$shared/load.sql"
	echo "status $?"
	run sqlite3 disk.db .dump | md5sum
}

verify() {
	has cpu 'sqlite3_step;'
	has heap 'sqlite3_step;'
}
