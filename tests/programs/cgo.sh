# SPDX-License-Identifier: BSD-3-Clause
about="a Go program with cgo: C called from many goroutines, and back"
packages="golang-go gcc"
needs="go gcc"
interval=1
at_least cpu 1
at_least heap 20
# Go's runtime makes its system calls itself.
at_least io 0
# Go ends a process without libc: only the last checkpoint is left, and the threads that were not met by then.
lost=100
# Its stacks of goroutines have no call frame information.
more=(CPROF_CHECKPOINT=100ms CPROF_SIGNAL=none)
incomplete=100

prepare() {
	mkdir cgo && cd cgo || return
	cat >go.mod <<'EOF'
module example.com/cgo
go 1.19
EOF
	cat >main.go <<'EOF'
package main

/*
#include <stdlib.h>
#include <string.h>
static long burn(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i % 7; char *p = malloc(100 + n % 50); memset(p, 1, 100); s += p[3]; free(p); return s; }
extern int goCalled(int);
static int back(int n) { return goCalled(n) + 1; }
*/
import "C"
import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

//export goCalled
func goCalled(n C.int) C.int { return n * 2 }

func main() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	sum, words := int64(0), map[string]int{}
	for g := 0; g < 16; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			for i := 0; i < 60; i++ {
				n := int64(C.burn(C.long(200000 + g*100 + i)))
				b := C.back(C.int(i))
				mu.Lock()
				sum += n + int64(b)
				words[strings.Repeat("x", i%17)]++
				mu.Unlock()
			}
		}(g)
	}
	wg.Wait()
	keys := []string{}
	for k, v := range words {
		keys = append(keys, fmt.Sprint(len(k), "=", v))
	}
	sort.Strings(keys)
	fmt.Println(sum, keys)
	time.Sleep(300 * time.Millisecond)
	os.Exit(8)
}
EOF
	HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-mod=mod CGO_ENABLED=1 go build -o ../program .
	rm -rf cache
}

load() {
	run "$shared/program"
	echo "status $?"
}

verify() {
	has heap 'burn'
}
