//! Runs many small cases in parallel: most of their time is waiting.

use std::sync::Mutex;
use std::thread;

/// Cases that run at once. Each is a process, and a machine may have only two slow cores.
const AT_ONCE: usize = 8;

/// Runs every case, several at a time, and returns the results in the order of the cases.
pub fn each<C: Sync, R: Send>(cases: &[C], check: impl Fn(&C) -> R + Sync) -> Vec<R> {
    each_among(AT_ONCE, cases, check)
}

/// The same, `at_once` at a time.
pub fn each_among<C: Sync, R: Send>(at_once: usize, cases: &[C], check: impl Fn(&C) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..cases.len());
    let take = || next.lock().expect("no case panics while it takes its number").next();
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let work = || std::iter::from_fn(take).map(|index| (index, check(&cases[index]))).collect::<Vec<_>>();
        let workers: Vec<_> = (0..at_once.min(cases.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a case failed, as said above")).collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
