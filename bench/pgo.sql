-- SPDX-License-Identifier: BSD-3-Clause: a load for bench/pgo.sh: inserts, an index, joins, sums, text.
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b REAL, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
	INSERT INTO t SELECT i, i * 7919 % 10007, i / 3.0, printf('row %d of %x', i, i * 31) FROM n;
CREATE INDEX t_a ON t (a);
SELECT count(*), sum(b), max(c) FROM t WHERE a BETWEEN 100 AND 9000;
SELECT a % 97 AS g, count(*), avg(b), min(c) FROM t GROUP BY g ORDER BY 3 DESC LIMIT 5;
SELECT count(*) FROM t x JOIN t y ON y.a = x.a WHERE x.id < 20000;
SELECT count(*) FROM t WHERE c LIKE '%9%f';
UPDATE t SET b = b + a WHERE id % 3 = 0;
DELETE FROM t WHERE a % 11 = 5;
SELECT group_concat(substr(c, 1, 6), ';') FROM (SELECT c FROM t ORDER BY c DESC LIMIT 1000);
