// SPDX-License-Identifier: MIT
//
// The workloads of suite flow with a peer in Go: golang.org/x/time/rate. The time is passed in,
// as it is to Weir's decision, so that nobody's clock is measured.

package main

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

func decide(limiter *rate.Limiter, times int, begin time.Time) (granted int) {
	now := begin
	for i := 0; i < times; i++ {
		now = now.Add(10 * time.Nanosecond)
		if limiter.AllowN(now, 1) {
			granted++
		}
	}
	return granted
}

func limiter(o options, threads int) reading {
	runtime.GOMAXPROCS(threads)
	times := o.count(20_000_000)
	shared := rate.NewLimiter(rate.Limit(50_000_000), 1000)
	begin := time.Now()
	granted := make([]int, threads)
	var all sync.WaitGroup
	all.Add(threads)
	watch := start()
	for i := 0; i < threads; i++ {
		go func(i int) {
			granted[i] = decide(shared, times, begin)
			all.Done()
		}(i)
	}
	all.Wait()
	r := watch.perOperation(times)
	if granted[0] == 0 || granted[0] == times {
		panic("benchmark broken: limiter")
	}
	return r
}

func main() {
	run([]workload{
		{"limiter_1t", busy, func(o options) reading { return limiter(o, 1) }},
		{"limiter_2t", busy, func(o options) reading { return limiter(o, 2) }},
	})
}
