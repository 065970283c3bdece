// SPDX-License-Identifier: MIT
//
// The same protocol as harness.hpp: the best of N repetitions, those with less than 95 % of a core
// left out, one line of JSON per workload.

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

type options struct {
	workload string
	reps     int
	quick    bool
}

func (o options) count(full int) int {
	if o.quick {
		return full / 10
	}
	return full
}

type reading struct {
	value, cpuShare float64
}

func cpuNs() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func residentBytes() float64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var total, resident int
	if _, err := fmt.Sscan(string(statm), &total, &resident); err != nil {
		panic(err)
	}
	return float64(resident * os.Getpagesize())
}

type stopwatch struct {
	wall time.Time
	cpu  float64
}

func start() stopwatch { return stopwatch{time.Now(), cpuNs()} }

func (s stopwatch) perOperation(operations int) reading {
	cpu := cpuNs() - s.cpu
	wall := float64(time.Since(s.wall))
	return reading{wall / float64(operations), cpu / wall}
}

func (s stopwatch) cpuPerOperation(operations int) reading {
	cpu := cpuNs() - s.cpu
	wall := float64(time.Since(s.wall))
	return reading{cpu / float64(operations), cpu / wall}
}

type kind int

const (
	busy kind = iota
	sleepy
	memoryOnce // a second repetition would find the heap warm
)

type workload struct {
	name       string
	what       kind
	repetition func(options) reading
}

func measure(w workload, o options) {
	wanted := o.reps
	attempts := 2 * wanted
	unit := "ns"
	if w.what == memoryOnce {
		wanted, attempts, unit = 1, 1, "bytes"
	}
	budget := 6 * time.Second
	if o.quick {
		budget = 600 * time.Millisecond
	}
	begin := time.Now()
	var best reading
	reliable, good := false, 0
	for attempt := 0; attempt < attempts && good < wanted; attempt++ {
		if attempt > 0 && time.Since(begin) > budget {
			break
		}
		runtime.GC() // the garbage of one repetition is not paid for by the next
		r := w.repetition(o)
		counts := w.what != busy || r.cpuShare >= 0.95
		if counts {
			good++
		}
		if attempt == 0 || (counts && !reliable) || (counts == reliable && r.value < best.value) {
			best = r
		}
		reliable = reliable || counts
	}
	mark := ""
	if !reliable {
		mark = `, "unreliable": true`
	}
	fmt.Printf(`{"workload": "%s", "value": %.3f, "unit": "%s", "cpu_share": %.3f%s}`+"\n",
		w.name, best.value, unit, best.cpuShare, mark)
}

func run(workloads []workload) {
	var o options
	flag.StringVar(&o.workload, "workload", "all", "which workload")
	flag.IntVar(&o.reps, "reps", 0, "repetitions")
	flag.BoolVar(&o.quick, "quick", false, "fewer repetitions, smaller counts")
	flag.Parse()
	if o.reps == 0 {
		o.reps = 5
		if o.quick {
			o.reps = 3
		}
	}
	runtime.GOMAXPROCS(1) // one core, like everybody else
	for _, w := range workloads {
		if o.workload == w.name {
			measure(w, o)
		}
		if o.workload == "all" {
			// Each in a process of its own, so that none warms the heap for the next.
			again := exec.Command(os.Args[0], append(os.Args[1:], "-workload", w.name)...)
			again.Stdout, again.Stderr = os.Stdout, os.Stderr
			if err := again.Run(); err != nil {
				fmt.Fprintln(os.Stderr, w.name, err)
			}
		}
	}
}
