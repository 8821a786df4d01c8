# SPDX-License-Identifier: BSD-3-Clause
# What a sampled profile gains a compiler (docs/pgo.md), beside instrumented builds: user time of each way of building, in turns.
#
#   PGO_SOURCES=DIR bash bench/pgo.sh [program]...     lua zstd sqlite redis
#
# DIR holds the unpacked sources (apt-get source lua5.4 libzstd sqlite3 redis). PGO_ROUNDS: runs of each binary (11). PGO_SAMPLES:
# sizes of profiles ("1000 10000 100000"). Takes some ten minutes a program, on an otherwise idle machine.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
build=${builddir:-$bench/../build}
cprof=$(cd "$build" && pwd)/cprof
sources=$(cd "${PGO_SOURCES:?the folder with the sources}" && pwd)
bolt=${LLVM_BOLT:-llvm-bolt} rounds=${PGO_ROUNDS:-11} sizes=${PGO_SAMPLES:-1000 10000 100000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CPROF_CPU_ENGINE=perf

# ---- programs: how each is built, and a load of some seconds ----
lua_files() { ls "$sources"/lua*5*/src/*.c | grep -v 'luac\.c'; }
lua_flags="-DLUA_USE_LINUX -lm -ldl"
lua_load() { "$1" "$bench/pgo.lua"; }
zstd_files() { (cd "$sources"/*zstd-*/ && ls "$PWD"/lib/common/*.c "$PWD"/lib/compress/*.c "$PWD"/lib/decompress/*.c "$PWD"/lib/dictBuilder/*.c "$PWD"/programs/*.c); }
zstd_flags="-DZSTD_DISABLE_ASM -DBACKTRACE_ENABLE=0 -pthread"
zstd_load() { "$1" -q -f --single-thread -9 "$work/text" -o "$work/text.zst" && "$1" -q -f -d "$work/text.zst" -o "$work/text.back"; }
sqlite_files() { echo "$work/sqlite/sqlite3.c" "$work/sqlite/shell.c"; }
sqlite_flags="-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -lm"
sqlite_load() { for _ in 1 2 3; do "$1" :memory: <"$bench/pgo.sql"; done; }
redis_files() {
	sed -n 's/^REDIS_SERVER_OBJ=//p' "$sources"/redis-*/src/Makefile | tr ' ' '\n' | sed -n "s|\(.*\)\.o\$|$(echo "$sources"/redis-*)/src/\1.c|p"
	(cd "$sources"/redis-*/deps && ls "$PWD"/hiredis/{alloc,async,hiredis,net,read}.c "$PWD"/hdr_histogram/hdr_histogram.c "$PWD"/lua/src/*.c | grep -v '/luac*\.c')
	echo "$work/redis/hiredis_sds.c" # redis has an sds.c of its own, and GCC's counts are kept by name
}
redis_flags="-std=gnu11 -DREDIS_STATIC= -DENABLE_CJSON_GLOBAL -DHDR_MALLOC_INCLUDE=\"hdr_redis_malloc.h\" $(printf -- '-I%s ' "$sources"/redis-*/deps/{hiredis,lua/src,hdr_histogram,linenoise}) -rdynamic -lm -ldl -pthread"
redis_load() { # it replays a file of commands
	local data=$work/redis/data
	rm -rf "$data"
	mkdir -p "$data/appendonlydir"
	ln "$work/commands" "$data/appendonlydir/a.1.incr.aof"
	echo "file a.1.incr.aof seq 1 type i" >"$data/appendonlydir/a.manifest"
	"$1" --port 0 --unixsocket "$data/s" --dir "$data" --appendonly yes --appendfilename a --save ''
}

prepare() {
	case $1 in
	redis) ln -s "$sources"/redis-*/deps/hiredis/sds.c "$work/redis/hiredis_sds.c" && awk -f "$bench/pgo.awk" >"$work/commands" && (cd "$sources"/redis-*/src && sh mkreleasehdr.sh) ;;
	zstd) find /usr/include /usr/share -type f -size -200k 2>/dev/null | sort | head -4000 | xargs cat 2>/dev/null | head -c 24000000 >"$work/text" ;;
	sqlite) (cd "$work/sqlite" && "$sources"/sqlite3-*/configure && make -s sqlite3.c shell.c) >"$work/log" 2>&1 ;;
	esac
}

compile() { # program binary compiler flags...
	local program=$1 binary=$2 flags=${1}_flags
	shift 2
	# The flags are words; each binary is compiled in one folder, under one name, so that GCC finds its counts.
	# shellcheck disable=SC2046,SC2086
	(cd "$work/$program" && "$@" -w -O2 $("${program}_files") ${!flags} -o app && mv app "$binary") >>"$work/log" 2>&1 ||
		{ tail -n 5 "$work/log"; exit 1; }
}

load() { # program binary
	"${1}_load" "$work/$1/$2" >/dev/null
}

user_ms() { # program binary
	local TIMEFORMAT=%3U
	{ time load "$1" "$2" 2>/dev/null; } 2>&1 | tr -d . | sed 's/^0*//'
}

# A profile of about N samples of a binary: at one rate, of as many runs as that takes.
sampled() { # program binary N
	local ms hz runs
	ms=$(user_ms "$1" "$2") runs=1 hz=$(($3 * 1000 / ms + 1))
	while [ $((hz / runs)) -gt 4000 ]; do runs=$((runs + 1)); done
	rm -f "$work"/p.*.pb
	for run in $(seq $runs); do
		# Around the binary alone: a load's own commands (ln, rm) are not profiled.
		printf '#!/bin/sh\nLD_PRELOAD=%s CPUPROFILE_FREQUENCY=%s CPUPROFILE=%s CPROF_SYMBOLIZE=names exec %s "$@"\n' \
			"$(dirname "$cprof")/.libs/libcprof.so" $((hz / runs)) "$work/p.$run.%p.pb" "$work/$1/$2" >"$work/$1/profiled"
		chmod +x "$work/$1/profiled"
		load "$1" profiled
	done
}

ways=
build_all() { # program
	local p=$1 g="gcc -g" c="clang -g -fdebug-info-for-profiling" n
	ways="gcc clang"
	compile "$p" gcc $g
	compile "$p" clang $c
	compile "$p" gcc-fdo $g -fprofile-generate -fprofile-update=single
	load "$p" gcc-fdo
	compile "$p" gcc-fdo $g -fprofile-use -fprofile-partial-training
	compile "$p" clang-fdo $c -fprofile-instr-generate
	LLVM_PROFILE_FILE=$work/$p/raw-%p load "$p" clang-fdo
	llvm-profdata merge -o "$work/$p/fdo" "$work/$p"/raw-*
	compile "$p" clang-fdo $c "-fprofile-instr-use=$work/$p/fdo"
	compile "$p" clang-lld $c -ffunction-sections -fuse-ld=lld
	ways="$ways gcc-fdo clang-fdo"
	for n in $sizes; do
		sampled "$p" gcc "$n"
		"$cprof" convert -to=gcc -o "$work/$p/afdo" "$work"/p.*.pb
		compile "$p" "gcc-$n" $g "-fauto-profile=$work/$p/afdo"
		sampled "$p" clang "$n"
		"$cprof" convert -to=llvm -o "$work/$p/prof" "$work"/p.*.pb
		compile "$p" "clang-$n" $c "-fprofile-sample-use=$work/$p/prof"
		ways="$ways gcc-$n clang-$n"
	done
	sampled "$p" clang-lld 10000
	"$cprof" convert -to=order -o "$work/$p/order" "$work"/p.*.pb
	compile "$p" clang-order $c -ffunction-sections -fuse-ld=lld "-Wl,--call-graph-ordering-file=$work/$p/order"
	ways="$ways clang-order"
	command -v "$bolt" >/dev/null || return 0
	compile "$p" gcc-linked $g -fno-reorder-blocks-and-partition -Wl,-q
	sampled "$p" gcc-linked 100000
	"$cprof" convert -to=bolt -o "$work/$p/bolt" "$work"/p.*.pb
	"$bolt" "$work/$p/gcc-linked" -o "$work/$p/gcc-bolt" -data="$work/$p/bolt" -reorder-blocks=ext-tsp -reorder-functions=hfsort -split-functions -skip-funcs=luaV_execute.* >>"$work/log" 2>&1
	ways="$ways gcc-bolt"
}

for p in ${*:-lua zstd sqlite redis}; do
	mkdir -p "$work/$p"
	prepare "$p"
	build_all "$p"
	: >"$work/times"
	for _ in $(seq "$rounds"); do
		for way in $ways; do echo "$way $(user_ms "$p" "$way")" >>"$work/times"; done
	done
	sort -k1,1 -k2,2n "$work/times" | awk -v p="$p" '
		{ v[$1, ++n[$1]] = $2 }
		END {
			for (w in n) m[w] = v[w, int((n[w] + 1) / 2)]
			for (w in n) {
				base = w ~ /^gcc/ ? "gcc" : "clang"
				full = m[base] - m[base "-fdo"]
				printf "%s %s: %d ms, gain %.1f%%, %s of FDO\n", p, w, m[w], 100 * (1 - m[w] / m[base]),
					(full > 0.01 * m[base]) ? sprintf("%.0f%%", 100 * (m[base] - m[w]) / full) : "-"
			}
		}' | sort
done
