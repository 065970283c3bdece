// SPDX-License-Identifier: MIT
//
// The same protocol as harness.hpp: the best of N repetitions, those with less than 95 % of a core
// left out, one line of JSON per workload.

use std::process::Command;
use std::time::Instant;

pub struct Options {
    pub workload: String,
    pub reps: usize,
    pub quick: bool,
}

impl Options {
    pub fn count(&self, full: u64) -> u64 {
        if self.quick {
            full / 10
        } else {
            full
        }
    }
}

#[derive(Clone, Copy)]
pub struct Reading {
    pub value: f64,
    pub cpu_share: f64,
}

fn cpu_ns() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

pub fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: f64 = statm.split(' ').nth(1).expect("statm").parse().expect("statm");
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

pub struct Stopwatch {
    wall: Instant,
    cpu: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch { wall: Instant::now(), cpu: cpu_ns() }
    }

    pub fn per_operation(&self, operations: u64) -> Reading {
        let cpu = cpu_ns() - self.cpu;
        let wall = self.wall.elapsed().as_nanos() as f64;
        Reading { value: wall / operations as f64, cpu_share: cpu / wall }
    }

    pub fn cpu_per_operation(&self, operations: u64) -> Reading {
        let cpu = cpu_ns() - self.cpu;
        let wall = self.wall.elapsed().as_nanos() as f64;
        Reading { value: cpu / operations as f64, cpu_share: cpu / wall }
    }
}

#[derive(PartialEq)]
pub enum Kind {
    Busy,
    Sleepy,
    /// A second repetition would find the heap warm: one only.
    Memory,
}

pub struct Workload {
    pub name: &'static str,
    pub repetition: fn(&Options) -> Reading,
    pub kind: Kind,
}

fn measure(w: &Workload, o: &Options) {
    let wanted = if w.kind == Kind::Memory { 1 } else { o.reps };
    let attempts = if w.kind == Kind::Memory { 1 } else { 2 * wanted };
    let budget = if o.quick { 0.6 } else { 6.0 };
    let begin = Instant::now();
    let mut best = Reading { value: 0.0, cpu_share: 0.0 };
    let (mut reliable, mut good) = (false, 0);
    for attempt in 0..attempts {
        if good >= wanted || (attempt > 0 && begin.elapsed().as_secs_f64() > budget) {
            break;
        }
        let r = (w.repetition)(o);
        let counts = w.kind != Kind::Busy || r.cpu_share >= 0.95;
        good += counts as usize;
        if attempt == 0 || (counts && !reliable) || (counts == reliable && r.value < best.value) {
            best = r;
        }
        reliable |= counts;
    }
    let unit = if w.kind == Kind::Memory { "bytes" } else { "ns" };
    let mark = if reliable { "" } else { ", \"unreliable\": true" };
    println!(
        "{{\"workload\": \"{}\", \"value\": {:.3}, \"unit\": \"{}\", \"cpu_share\": {:.3}{}}}",
        w.name, best.value, unit, best.cpu_share, mark
    );
}

fn parse() -> Option<Options> {
    let mut o = Options { workload: "all".into(), reps: 0, quick: false };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => o.quick = true,
            "--workload" => o.workload = args.next()?,
            "--reps" => o.reps = args.next()?.parse().ok()?,
            _ => return None,
        }
    }
    if o.reps == 0 {
        o.reps = if o.quick { 3 } else { 5 };
    }
    Some(o)
}

pub fn run(workloads: &[Workload]) {
    let o = parse().unwrap_or_else(|| {
        eprintln!("usage: bench_tokio [--workload NAME|all] [--reps N] [--quick]");
        std::process::exit(64);
    });
    for w in workloads {
        if o.workload == w.name {
            measure(w, &o);
        }
        if o.workload == "all" {
            // Each in a process of its own, so that none warms the heap for the next.
            let mut again = Command::new(std::env::current_exe().expect("own path"));
            again.args(std::env::args().skip(1)).args(["--workload", w.name]);
            if !again.status().expect("run").success() {
                eprintln!("{} failed", w.name);
            }
        }
    }
}
