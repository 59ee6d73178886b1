//! stdout and stderr, each written by a thread of its own: a reader who has stopped reading holds up neither the runs nor
//! the end of the program.
//!
//! What always holds: the two keep their order as long as both are read; data is never dropped while stdout can be
//! written, and whoever makes much of it waits for [`Writer::room`]; what is said on stderr is dropped beyond a bound; a
//! picture that is drawn again and again is dropped while an older one waits.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// What may wait on one stream, in bytes: several reports of a large run. More is awaited on stdout, and dropped on stderr.
const WAITING_BYTES_MAX: usize = 1024 * 1024;
/// How long a stream waits for what came before on the other. One that is read takes milliseconds; behind one that is
/// not, nothing is to wait.
const ORDER_MAX: Duration = Duration::from_millis(200);
/// How long the end of the program waits for what nobody needs to have: words on stderr, and data after a signal.
const END_MAX: Duration = Duration::from_secs(1);

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Data.
    Out,
    /// Words.
    Err,
}

/// What becomes of bytes that find others waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// They wait, however many there are.
    Always,
    /// They wait where there is room.
    IfRoom,
    /// They are dropped: newer ones come soon.
    IfIdle,
}

/// Writes to the two streams; clones write to the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something was put into a queue, or taken out of it.
    changed: Condvar,
    /// Something was taken out of a queue, for those who wait on the runtime.
    written: Notify,
    /// Why data could not be written, the first time. A reader that went away has what it wanted.
    lost: OnceLock<io::Error>,
}

#[derive(Debug, Default)]
struct State {
    out: Lane,
    err: Lane,
    /// The number of the next item, on whichever stream.
    next: u64,
}

/// What waits for one stream.
#[derive(Debug, Default)]
struct Lane {
    /// The one that is being written stays the first until it is.
    queue: VecDeque<Item>,
    bytes: usize,
    has_thread: bool,
    /// The other stream has waited for this one in vain, and does so no more until it moves.
    is_stuck: bool,
    /// Nobody can be given anything any more, or nobody wants to wait for that.
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
    /// Puts bytes where they will be written; `false` where they are dropped.
    pub(super) fn put(&self, stream: Stream, bytes: Vec<u8>, keep: Keep) -> bool {
        let mut state = self.lock();
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

    /// Why data could not be written, where some could not.
    pub(super) fn lost(&self) -> Option<&io::Error> {
        self.0.lost.get()
    }

    /// Waits until more data may be made.
    pub(super) async fn room(&self) {
        self.until(|state| state.out.is_over || state.out.bytes <= WAITING_BYTES_MAX).await;
    }

    /// Waits until everything is written; for words not for long.
    pub(super) async fn written(&self) {
        self.until(|state| state.out.is_written()).await;
        // Whoever does not read the words in time does without them.
        let _ = timeout(END_MAX, self.until(|state| state.err.is_written())).await;
    }

    /// Waits as [`Writer::written`] does, but not for long for anything, because a signal has come.
    pub(super) async fn written_soon(&self) {
        let _ = timeout(END_MAX, self.until(|state| state.out.is_written())).await;
        self.give_up();
        self.written().await;
    }

    /// Waits as [`Writer::written`] does, where there is no runtime.
    pub(super) fn wait(&self) {
        let changed = &self.0.changed;
        let state = changed.wait_while(self.lock(), |state| !state.out.is_written());
        let state = state.unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_timeout_while(state, END_MAX, |state| !state.err.is_written()));
    }

    /// Whether nothing waits.
    pub(super) fn is_written(&self) -> bool {
        let state = self.lock();
        state.out.is_written() && state.err.is_written()
    }

    /// Waits for data no more.
    pub(super) fn give_up(&self) {
        self.lock().out.is_over = true;
        self.render();
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let mut written = pin!(self.0.written.notified());
            // Before the look: what happens between the look and the waiting is not missed.
            written.as_mut().enable();
            if is_so(&self.lock()) {
                return;
            }
            written.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The work of a stream's thread. It ends with the process, or when its stream can be written no more.
    fn write_all(&self, stream: Stream) {
        loop {
            let bytes = self.next(stream);
            let written = write(stream, &bytes);
            let mut state = self.lock();
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

    /// The next bytes of a stream, once what came before on the other is written, or is not getting on.
    fn next(&self, stream: Stream) -> Vec<u8> {
        let changed = &self.0.changed;
        let state = changed.wait_while(self.lock(), |state| state.lane(stream).queue.is_empty());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let number = state.lane(stream).queue.front().map_or(0, |item| item.number);
        let is_behind = |state: &mut State| {
            let other = state.lane(stream.other());
            other.is_before(number) && !other.is_stuck
        };
        let waited = changed.wait_timeout_while(state, ORDER_MAX, is_behind);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_behind(&mut state) {
            state.lane(stream.other()).is_stuck = true;
        }
        state.lane(stream).queue.front_mut().map(|item| std::mem::take(&mut item.bytes)).unwrap_or_default()
    }
}

/// Writes past the library's own handles, which take a stdout that cannot be written for one that can.
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
            // Whoever started us has set it not to block; an error of the waiting is one of the next write.
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
