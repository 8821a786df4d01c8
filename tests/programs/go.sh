# SPDX-License-Identifier: BSD-3-Clause
about="a Go program without cgo (static), by LD_PRELOAD and by cprof run, which says why there is no profile; the go command itself"
packages="golang-go"
needs="go"
# The go command is linked to libc; its runtime has a handler for every signal, and a line would say so.
more=(CPROF_SIGNAL=none)
incomplete=100
# No profile is the right outcome: the loader that would preload is not in the program.
at_least cpu 0
at_least wall 0
at_least heap 0
at_least io 0

prepare() {
	mkdir pure && cd pure || return
	cat >go.mod <<'EOF'
module example.com/pure
go 1.19
EOF
	cat >main.go <<'EOF'
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	out := make([]string, 8)
	for g := range out {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			h := sha256.New()
			for i := 0; i < 5000; i++ {
				fmt.Fprint(h, i*g)
			}
			out[g] = fmt.Sprintf("%x", h.Sum(nil))
		}(g)
	}
	wg.Wait()
	fmt.Println(out)
	fmt.Fprintln(os.Stderr, "done")
	os.Exit(8)
}
EOF
	HOME=$PWD GOCACHE=$PWD/cache CGO_ENABLED=0 go build -o ../program .
	rm -rf cache
}

load() {
	run "$shared/program"
	echo "status $?"
	HOME=$PWD run go vet -h 2>&1 | head -n 1
	HOME=$PWD run go env GOARCH
}

# It is said.
verify() {
	[ -x "$builddir/cprof" ] || return
	"$builddir/cprof" run -o "$work/none.pb" -- "$shared/program" >"$work/run.out" 2>&1
	grep -qi 'static' "$work/run.out" || problem "cprof run does not say that the program is static: $(head -n 3 "$work/run.out")"
	[ ! -e "$work/none.pb" ] || problem "a profile of a static program"
}
