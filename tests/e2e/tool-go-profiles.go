// SPDX-License-Identifier: BSD-3-Clause
// Profiles as Go's own runtime writes them, for the tests of cprof: cpu, heap, mutex and labels
// in the directory that the first argument names.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
	"time"
)

var kept [][]byte

func words(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("word-%d", i*7919%10007)
	}
	return list
}

func sorted(n int) int {
	list := words(n)
	sort.Strings(list)
	return len(strings.Join(list, ","))
}

func matched(n int) int {
	return len(regexp.MustCompile(`w[a-z]+-(\d+)5`).FindAllString(strings.Join(words(n), " "), -1))
}

func zipped(n int) int {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write([]byte(strings.Repeat("compress me ", n)))
	z.Close()
	return out.Len()
}

func hashed(n int) (sum byte) {
	for i := 0; i < n; i++ {
		h := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		sum += h[0]
	}
	return
}

func recursive(n int) int {
	if n < 2 {
		return n
	}
	return recursive(n-1) + recursive(n-2)
}

func work(until time.Time) {
	for time.Now().Before(until) {
		sorted(2000)
		matched(2000)
		zipped(20000)
		hashed(3000)
		recursive(20)
		kept = append(kept, make([]byte, 5000))
	}
}

func contend() {
	var lock sync.Mutex
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := 0; k < 20; k++ {
				lock.Lock()
				time.Sleep(500 * time.Microsecond)
				lock.Unlock()
			}
		}()
	}
	all.Wait()
}

func write(dir, name string) {
	f, err := os.Create(filepath.Join(dir, name+".pb"))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if err := pprof.Lookup(name).WriteTo(f, 0); err != nil {
		panic(err)
	}
}

func main() {
	dir := os.Args[1]
	runtime.MemProfileRate = 8 << 10
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	f, err := os.Create(filepath.Join(dir, "cpu.pb"))
	if err != nil {
		panic(err)
	}
	runtime.SetCPUProfileRate(500)
	pprof.StartCPUProfile(f)
	var all sync.WaitGroup
	until := time.Now().Add(700 * time.Millisecond)
	for i := 0; i < 3; i++ {
		all.Add(1)
		labels := pprof.Labels("request", fmt.Sprintf("r%d", i), "kind", []string{"read", "write"}[i%2])
		go pprof.Do(context.Background(), labels, func(context.Context) {
			defer all.Done()
			work(until)
		})
	}
	all.Wait()
	contend()
	pprof.StopCPUProfile()
	f.Close()
	for _, name := range []string{"heap", "mutex", "block", "goroutine"} {
		write(dir, name)
	}
}
