//! stdout and stderr, each written by a thread, so that a reader who stops reading delays neither runs nor the end of
//! the program.
//!
//! What always holds: the two keep their order as long as both are read, and always if both are one terminal, file or
//! pipe; data is never dropped while stdout can be written, and producers of much data wait for [`Writer::room`]; messages
//! on stderr are dropped beyond a limit; a redrawn picture is dropped while an older one waits.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;
use tokio::time::timeout;

/// The most queued bytes of a stream: several reports of a large run. Beyond it, stdout makes its producers wait, and
/// stderr drops.
const WAITING_BYTES_MAX: usize = 1024 * 1024;
/// The longest wait of a stream for earlier items of the other. A stream that is read takes milliseconds; nothing
/// should wait behind one that is not.
const ORDER_MAX: Duration = Duration::from_millis(200);
/// The longest wait at the end of the program for what is not essential: messages, and data after a signal.
const END_MAX: Duration = Duration::from_secs(1);

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Data.
    Out,
    /// Messages.
    Err,
}

/// What to do with bytes while others are queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Queue them always.
    Always,
    /// Queue them if there is room.
    IfRoom,
    /// Drop them: newer ones come soon.
    IfIdle,
}

/// A writer to both streams. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Writer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Both streams lead to one terminal, file or pipe: if one is not read, neither is the other.
    is_one_place: bool,
    state: Mutex<State>,
    /// Notified when a queue changes.
    changed: Condvar,
    /// Notified when an item is written, for waiters on the runtime.
    written: Notify,
    /// The first error of writing data. A reader that went away is no error.
    lost: OnceLock<io::Error>,
}

#[derive(Debug, Default)]
struct State {
    out: Lane,
    err: Lane,
    /// The number of the next item, on whichever stream.
    next: u64,
}

/// The queue of one stream.
#[derive(Debug, Default)]
struct Lane {
    /// The item being written stays in front until it is written.
    queue: VecDeque<Item>,
    bytes: usize,
    has_thread: bool,
    /// The other stream has timed out waiting for this one, and waits no more until it moves.
    is_stuck: bool,
    /// Closed: the stream cannot be written, or nobody waits for it any more.
    is_over: bool,
}

#[derive(Debug)]
struct Item {
    number: u64,
    bytes: Vec<u8>,
}

impl Lane {
    fn is_before(&self, number: u64) -> bool {
        !self.is_over && self.queue.front().is_some_and(|item| item.number < number)
    }

    fn is_written(&self) -> bool {
        self.is_over || self.queue.is_empty()
    }
}

impl State {
    const fn lane(&mut self, stream: Stream) -> &mut Lane {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }
}

impl Stream {
    const fn other(self) -> Self {
        match self {
            Self::Out => Self::Err,
            Self::Err => Self::Out,
        }
    }
}

impl Writer {
    /// A writer to the streams of this process.
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared { is_one_place: is_one_place(), ..Shared::default() }))
    }

    /// Queues bytes; `false` if they are dropped.
    pub(super) fn put(&self, stream: Stream, bytes: Vec<u8>, keep: Keep) -> bool {
        let mut state = self.0.state.lock();
        let number = state.next;
        let lane = state.lane(stream);
        let has_room = match keep {
            Keep::Always => true,
            Keep::IfRoom => lane.bytes + bytes.len() <= WAITING_BYTES_MAX,
            Keep::IfIdle => lane.queue.is_empty(),
        };
        if lane.is_over || !has_room {
            return false;
        }
        if !lane.has_thread {
            let writer = self.clone();
            let name = format!("{stream:?}").to_lowercase();
            let started = std::thread::Builder::new().name(name).spawn(move || writer.write_all(stream));
            if let Err(error) = started {
                lane.is_over = true;
                self.note(stream, error);
                return false;
            }
            lane.has_thread = true;
        }
        lane.bytes += bytes.len();
        lane.queue.push_back(Item { number, bytes });
        state.next += 1;
        drop(state);
        self.0.changed.notify_all();
        true
    }

    /// The error of writing data, if any.
    pub(super) fn lost(&self) -> Option<&io::Error> {
        self.0.lost.get()
    }

    /// Waits until there is room for more data.
    pub(super) async fn room(&self) {
        self.until(|state| state.out.is_over || state.out.bytes <= WAITING_BYTES_MAX).await;
    }

    /// Waits until everything is written; for messages only a short time.
    pub(super) async fn written(&self) {
        self.until(|state| state.out.is_written()).await;
        self.flushed().await;
    }

    /// Waits a short time until messages are written: a reader that is too slow loses them.
    pub(super) async fn flushed(&self) {
        let _ = timeout(END_MAX, self.until(|state| state.err.is_written())).await;
    }

    /// Like [`Writer::written`], but with a short limit for data too, because a signal has come.
    pub(super) async fn written_soon(&self) {
        let _ = timeout(END_MAX, self.until(|state| state.out.is_written())).await;
        self.give_up();
        self.written().await;
    }

    /// Like [`Writer::written`], without a runtime.
    pub(super) fn wait(&self) {
        let Shared { state, changed, .. } = &*self.0;
        let mut state = state.lock();
        changed.wait_while(&mut state, |state| !state.out.is_written());
        changed.wait_while_for(&mut state, |state| !state.err.is_written(), END_MAX);
    }

    /// Whether everything is written.
    pub(super) fn is_written(&self) -> bool {
        let state = self.0.state.lock();
        state.out.is_written() && state.err.is_written()
    }

    /// Stops waiting for data.
    pub(super) fn give_up(&self) {
        self.0.state.lock().out.is_over = true;
        self.render();
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let mut written = pin!(self.0.written.notified());
            // Registered before the check, so that a change in between is not missed.
            written.as_mut().enable();
            if is_so(&self.0.state.lock()) {
                return;
            }
            written.await;
        }
    }

    fn render(&self) {
        self.0.changed.notify_all();
        self.0.written.notify_waiters();
    }

    fn note(&self, stream: Stream, error: io::Error) {
        if stream == Stream::Out && error.kind() != ErrorKind::BrokenPipe {
            self.0.lost.get_or_init(|| error);
        }
    }

    /// The loop of a stream's thread. It ends with the process, or when its stream cannot be written any more.
    fn write_all(&self, stream: Stream) {
        loop {
            let bytes = self.next(stream);
            let written = write(stream, &bytes);
            let mut state = self.0.state.lock();
            let lane = state.lane(stream);
            lane.queue.pop_front();
            lane.bytes -= bytes.len();
            lane.is_stuck = false;
            let is_over = written.is_err();
            if let Err(error) = written {
                lane.is_over = true;
                lane.queue.clear();
                lane.bytes = 0;
                self.note(stream, error);
            }
            drop(state);
            self.render();
            if is_over {
                return;
            }
        }
    }

    /// The next bytes of a stream, once earlier items of the other stream are written or stalled.
    fn next(&self, stream: Stream) -> Vec<u8> {
        let Shared { is_one_place, state, changed, .. } = &*self.0;
        let mut state = state.lock();
        changed.wait_while(&mut state, |state| state.lane(stream).queue.is_empty());
        let number = state.lane(stream).queue.front().map_or(0, |item| item.number);
        let is_behind = |state: &mut State| {
            let other = state.lane(stream.other());
            other.is_before(number) && !other.is_stuck
        };
        if *is_one_place {
            changed.wait_while(&mut state, is_behind);
        } else {
            changed.wait_while_for(&mut state, is_behind, ORDER_MAX);
        }
        if is_behind(&mut state) {
            state.lane(stream.other()).is_stuck = true;
        }
        state.lane(stream).queue.front_mut().map(|item| std::mem::take(&mut item.bytes)).unwrap_or_default()
    }
}

/// Whether stdout and stderr are the same terminal, file or pipe.
#[cfg(unix)]
fn is_one_place() -> bool {
    let place = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let places = (rustix::fs::fstat(io::stdout()).map(place), rustix::fs::fstat(io::stderr()).map(place));
    matches!(places, (Ok(out), Ok(err)) if out == err)
}

/// Only Unix says it.
#[cfg(not(unix))]
const fn is_one_place() -> bool {
    false
}

/// Writes directly to the descriptor, because the standard library's handles hide a closed stdout.
#[cfg(unix)]
fn write(stream: Stream, mut bytes: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    let (out, err) = (io::stdout(), io::stderr());
    let file: &dyn std::os::fd::AsFd = match stream {
        Stream::Out => &out,
        Stream::Err => &err,
    };
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // The descriptor may be non-blocking, set by our parent process. An error of waiting shows at the next
            // write.
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes to the stream.
#[cfg(not(unix))]
fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    match stream {
        Stream::Out => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes)?;
            stdout.flush()
        }
        Stream::Err => io::stderr().lock().write_all(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer whose stdout has an item that is not written yet, and behind it one for stderr.
    fn behind(is_one_place: bool) -> Writer {
        let item = |number| VecDeque::from([Item { number, bytes: vec![b'x'] }]);
        let lane = |number| Lane { queue: item(number), bytes: 1, has_thread: true, ..Lane::default() };
        let state = Mutex::new(State { out: lane(0), err: lane(1), next: 2 });
        Writer(Arc::new(Shared { is_one_place, state, ..Shared::default() }))
    }

    #[test]
    fn a_stream_that_is_read_slowly_holds_the_other_back_for_long_only_in_one_place() {
        for is_one_place in [false, true] {
            let writer = behind(is_one_place);
            let (written, shown) = std::sync::mpsc::sync_channel(1);
            std::thread::spawn({
                let writer = writer.clone();
                move || written.send(writer.next(Stream::Err))
            });
            if is_one_place {
                assert!(shown.recv_timeout(ORDER_MAX * 2).is_err(), "the order is kept");
                writer.0.state.lock().out.queue.clear();
                writer.render();
            }
            assert_eq!(shown.recv().unwrap(), b"x");
        }
    }
}
