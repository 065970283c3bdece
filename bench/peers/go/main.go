// SPDX-License-Identifier: MIT
//
// The workloads of suite core with goroutines on one processor. No await_call: a call in Go is a
// call, there is nothing to await.

package main

import (
	"runtime"
	"sync"
	"time"
)

func require(condition bool, what string) {
	if !condition {
		panic("benchmark broken: " + what)
	}
}

// together runs body in n goroutines and waits for them all.
func together(n int, body func(i int)) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			body(i)
			all.Done()
		}(i)
	}
	all.Wait()
}

func yields(o options, tasks int) reading {
	each := o.count(5_000_000) / tasks
	watch := start()
	together(tasks, func(int) {
		for i := 0; i < each; i++ {
			runtime.Gosched()
		}
	})
	return watch.perOperation(each * tasks)
}

func spawnJoin(o options) reading {
	groups := o.count(1_000_000) / 1000
	total := 0
	watch := start()
	for i := 0; i < groups; i++ {
		together(1000, func(int) { total++ })
	}
	r := watch.perOperation(groups * 1000)
	require(total == groups*1000, "spawn_join")
	return r
}

func queues(items, pairs int) reading {
	each := items / pairs
	total := 0
	queue := make(chan int, 100)
	watch := start()
	together(2*pairs, func(i int) {
		if i < pairs {
			for j := 0; j < each; j++ {
				queue <- j + 1
			}
			return
		}
		sum := 0
		for j := 0; j < each; j++ {
			sum += <-queue
		}
		total += sum
	})
	r := watch.perOperation(each * pairs)
	require(total == pairs*(each*(each+1)/2), "queue")
	return r
}

func mutex(o options) reading {
	each := o.count(20_000)
	total := 0
	var lock sync.Mutex
	watch := start()
	together(100, func(int) {
		for i := 0; i < each; i++ {
			lock.Lock()
			runtime.Gosched()
			total++
			lock.Unlock()
		}
	})
	r := watch.perOperation(100 * each)
	require(total == 100*each, "mutex")
	return r
}

// A buffered channel is Go's usual semaphore.
func semaphore(o options) reading {
	each := o.count(1_000)
	permits := make(chan struct{}, 10)
	watch := start()
	together(1000, func(int) {
		for i := 0; i < each; i++ {
			permits <- struct{}{}
			runtime.Gosched()
			<-permits
		}
	})
	return watch.perOperation(1000 * each)
}

func timers(options) reading {
	const tasks = 200_000 // also in a quick run: the cost depends on the number
	watch := start()
	together(tasks, func(i int) {
		time.Sleep(time.Duration(i*7919%500_000) * time.Microsecond)
	})
	return watch.cpuPerOperation(tasks)
}

// The cheapest that Go allows: a timer armed and stopped around the operation, which says by the
// result of Stop that it was in time. context.WithTimeout costs more than twice as much.
func timeout(o options) reading {
	times := o.count(2_000_000)
	inTime := 0
	watch := start()
	for i := 0; i < times; i++ {
		timer := time.NewTimer(time.Second)
		runtime.Gosched()
		if timer.Stop() {
			inTime++
		}
	}
	r := watch.perOperation(times)
	require(inTime == times, "timeout")
	return r
}

// All goroutines sleep before the first is cancelled. Gives the cancelling alone, and with the
// spawning. Each has a channel to close, which is what a context consists of, at half the cost.
func cancelled(o options) (alone, withSpawn reading) {
	tasks := o.count(100_000)
	cancels := make([]chan struct{}, tasks)
	var all sync.WaitGroup
	all.Add(tasks)
	whole := start()
	for i := range cancels {
		cancel := make(chan struct{})
		cancels[i] = cancel
		go func() {
			timer := time.NewTimer(time.Hour)
			select {
			case <-cancel:
			case <-timer.C:
			}
			timer.Stop()
			all.Done()
		}()
	}
	runtime.Gosched()
	second := start()
	for _, cancel := range cancels {
		close(cancel)
	}
	all.Wait()
	return second.perOperation(tasks), whole.perOperation(tasks)
}

func memory(o options) reading {
	tasks := o.count(1_000_000)
	runtime.GC()
	before := residentBytes()
	for i := 0; i < tasks; i++ {
		go time.Sleep(time.Hour)
	}
	runtime.Gosched()
	return reading{(residentBytes() - before) / float64(tasks), 1}
}

func main() {
	run([]workload{
		{"yield_1", busy, func(o options) reading { return yields(o, 1) }},
		{"yield_100", busy, func(o options) reading { return yields(o, 100) }},
		{"spawn_join", busy, spawnJoin},
		{"queue_spsc", busy, func(o options) reading { return queues(o.count(5_000_000), 1) }},
		{"queue_mpmc", busy, func(o options) reading { return queues(o.count(4_000_000), 4) }},
		{"mutex", busy, mutex},
		{"semaphore", busy, semaphore},
		{"timers", sleepy, timers},
		{"timeout", busy, timeout},
		{"cancel", busy, func(o options) reading { r, _ := cancelled(o); return r }},
		{"spawn_cancel", busy, func(o options) reading { _, r := cancelled(o); return r }},
		{"memory", memoryOnce, memory},
	})
}
