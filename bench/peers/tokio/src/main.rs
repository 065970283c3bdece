// SPDX-License-Identifier: MIT
//
// The workloads of suite core on Tokio's current_thread runtime. All work runs in spawned tasks,
// where Tokio is faster than in block_on itself.

mod harness;

use harness::{resident_bytes, run, Kind, Options, Reading, Stopwatch, Workload};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, Mutex, Semaphore};
use tokio::task::{spawn, yield_now, JoinHandle};
use tokio::time::{sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

// std::hint::black_box needs a newer Rust than Debian's 1.63.
fn black_box(value: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&value) }
}

fn on_runtime<F>(work: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { spawn(work).await.unwrap() })
}

async fn join<T>(tasks: Vec<JoinHandle<T>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

fn yields(o: &Options, tasks: u64) -> Reading {
    let each = o.count(5_000_000) / tasks;
    on_runtime(async move {
        let watch = Stopwatch::start();
        let yielder = || async move {
            for _ in 0..each {
                yield_now().await;
            }
        };
        join((0..tasks).map(|_| spawn(yielder())).collect()).await;
        watch.per_operation(each * tasks)
    })
}

// Boxed: an unboxed child is inlined into its parent's state machine, which no frame on a heap can
// match, and which recursion and dynamic dispatch do not allow.
#[inline(never)]
fn child(value: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move { black_box(value) + 1 })
}

fn await_call(o: &Options) -> Reading {
    let times = o.count(20_000_000);
    on_runtime(async move {
        let watch = Stopwatch::start();
        let mut total = 0;
        for i in 0..times {
            total += child(i).await - i;
        }
        let r = watch.per_operation(times);
        assert_eq!(total, times);
        r
    })
}

fn spawn_join(o: &Options) -> Reading {
    let groups = o.count(1_000_000) / 1000;
    on_runtime(async move {
        let watch = Stopwatch::start();
        for _ in 0..groups {
            let tasks = (0..1000u64).map(|i| spawn(async move { black_box(i) })).collect();
            join(tasks).await;
        }
        watch.per_operation(groups * 1000)
    })
}

fn queue_spsc(o: &Options) -> Reading {
    let items = o.count(5_000_000);
    on_runtime(async move {
        let watch = Stopwatch::start();
        let (sender, mut receiver) = mpsc::channel::<u64>(100);
        let producer = spawn(async move {
            for i in 0..items {
                sender.send(i + 1).await.unwrap();
            }
        });
        let mut total = 0;
        while let Some(item) = receiver.recv().await {
            total += item;
        }
        producer.await.unwrap();
        let r = watch.per_operation(items);
        assert_eq!(total, items * (items + 1) / 2);
        r
    })
}

// Tokio has no channel with many consumers; sharing the receiver behind its Mutex is the usual way
// round. Taking all that is there while holding it is four times as fast as one item per lock.
fn queue_mpmc(o: &Options) -> Reading {
    let each = o.count(4_000_000) / 4;
    on_runtime(async move {
        let watch = Stopwatch::start();
        let (sender, receiver) = mpsc::channel::<u64>(100);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..4 {
            let sender = sender.clone();
            spawn(async move {
                for i in 0..each {
                    sender.send(i + 1).await.unwrap();
                }
            });
        }
        drop(sender);
        let consumer = |receiver: Arc<Mutex<mpsc::Receiver<u64>>>| async move {
            let mut total = 0;
            loop {
                let mut receiver = receiver.lock().await;
                match receiver.recv().await {
                    Some(item) => total += item,
                    None => return total,
                }
                while let Ok(item) = receiver.try_recv() {
                    total += item;
                }
            }
        };
        let consumers: Vec<_> = (0..4).map(|_| spawn(consumer(receiver.clone()))).collect();
        let mut total = 0;
        for c in consumers {
            total += c.await.unwrap();
        }
        let r = watch.per_operation(each * 4);
        assert_eq!(total, 4 * (each * (each + 1) / 2));
        r
    })
}

fn mutex(o: &Options) -> Reading {
    let each = o.count(20_000);
    on_runtime(async move {
        let watch = Stopwatch::start();
        let shared = Arc::new(Mutex::new(0u64));
        let locker = |shared: Arc<Mutex<u64>>| async move {
            for _ in 0..each {
                let mut total = shared.lock().await;
                yield_now().await;
                *total += 1;
            }
        };
        join((0..100).map(|_| spawn(locker(shared.clone()))).collect()).await;
        let r = watch.per_operation(100 * each);
        assert_eq!(*shared.lock().await, 100 * each);
        r
    })
}

fn semaphore(o: &Options) -> Reading {
    let each = o.count(1_000);
    on_runtime(async move {
        let watch = Stopwatch::start();
        let shared = Arc::new(Semaphore::new(10));
        let worker = |shared: Arc<Semaphore>| async move {
            for _ in 0..each {
                let _permit = shared.acquire().await.unwrap();
                yield_now().await;
            }
        };
        join((0..1000).map(|_| spawn(worker(shared.clone()))).collect()).await;
        watch.per_operation(1000 * each)
    })
}

fn timers(_: &Options) -> Reading {
    let tasks = 200_000u64; // also in a quick run: the cost depends on the number
    on_runtime(async move {
        let watch = Stopwatch::start();
        let delays = (0..tasks).map(|i| Duration::from_micros(i * 7919 % 500_000));
        join(delays.map(|delay| spawn(sleep(delay))).collect()).await;
        watch.cpu_per_operation(tasks)
    })
}

fn timeout_yield(o: &Options) -> Reading {
    let times = o.count(2_000_000);
    on_runtime(async move {
        let watch = Stopwatch::start();
        for _ in 0..times {
            timeout(Duration::from_secs(1), yield_now()).await.unwrap();
        }
        watch.per_operation(times)
    })
}

/// All tasks sleep before the first is aborted. Gives the cancelling alone, and with the spawning.
fn cancelled(o: &Options) -> (Reading, Reading) {
    let tasks = o.count(100_000);
    on_runtime(async move {
        let whole = Stopwatch::start();
        let sleeping: Vec<_> = (0..tasks).map(|_| spawn(sleep(HOUR))).collect();
        yield_now().await;
        let second = Stopwatch::start();
        for task in &sleeping {
            task.abort();
        }
        for task in sleeping {
            assert!(task.await.unwrap_err().is_cancelled());
        }
        (second.per_operation(tasks), whole.per_operation(tasks))
    })
}

fn memory(o: &Options) -> Reading {
    let tasks = o.count(1_000_000);
    on_runtime(async move {
        let before = resident_bytes();
        for _ in 0..tasks {
            spawn(sleep(HOUR));
        }
        yield_now().await;
        yield_now().await;
        Reading { value: (resident_bytes() - before) / tasks as f64, cpu_share: 1.0 }
    })
}

fn main() {
    use Kind::{Busy, Memory, Sleepy};
    let w = |name, kind, repetition| Workload { name, repetition, kind };
    run(&[
        w("yield_1", Busy, |o| yields(o, 1)),
        w("yield_100", Busy, |o| yields(o, 100)),
        w("await_call", Busy, await_call),
        w("spawn_join", Busy, spawn_join),
        w("queue_spsc", Busy, queue_spsc),
        w("queue_mpmc", Busy, queue_mpmc),
        w("mutex", Busy, mutex),
        w("semaphore", Busy, semaphore),
        w("timers", Sleepy, timers),
        w("timeout", Busy, timeout_yield),
        w("cancel", Busy, |o| cancelled(o).0),
        w("spawn_cancel", Busy, |o| cancelled(o).1),
        w("memory", Memory, memory),
    ]);
}
