//! The upstream of a measurement: a deterministic provider on loopback.
//!
//! It prints its address, then reads commands from stdin and answers each with one line on stdout: `delay SEAT STEP SYNTHESIS`
//! sets the delay of each kind of call in milliseconds, with a step more for each further seat of five; `size BYTES PIECES`
//! sets the size of every answer; `packing single` and `packing coalesced` set how many events a chunk holds; `spread MS` sets the
//! time over which a reply is written; `take` returns the calls since the last query; `requests COUNT` returns the last requests. It
//! parses HTTP itself, because a library would record times only at its next poll. It ends with its stdin.

use std::collections::VecDeque;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parallel_llm_bench::clock::now_ns;
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::programs::call::{Call, Observed};
use parallel_llm_bench::programs::reply::{self, Packing, Replies, Size};
use parallel_llm_bench::programs::upstream::Delay;
use parallel_llm_bench::terminal::{self, print};
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The number of seats of a panel, after which the steps begin again.
const SEATS: u64 = 5;
/// The number of recorded requests: those of the largest run.
const RECORDED: usize = 64;
/// The number of writes of a reply that is spread over a time.
const WRITES: usize = 20;
/// The longest wait for calls in progress before a query is answered.
const SETTLE_MAX: Duration = Duration::from_secs(1);
/// The reply to whoever asks for the list of models.
const NO_LIST: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
/// The longest request.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Default)]
struct State {
    observed: Observed,
    requests: VecDeque<String>,
    delay: Delay,
    size: Size,
    packing: Packing,
    spread: Duration,
    replies: Replies,
    seats: u64,
    /// Calls that are not recorded yet, although their client may have read the reply.
    open: usize,
}

#[derive(Default)]
struct Recorder {
    state: Mutex<State>,
    recorded: Condvar,
}

type Shared = Arc<Recorder>;

fn main() -> ExitCode {
    terminal::end("upstream", run())
}

fn run() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    print(&listener.local_addr()?.to_string())?;
    let context = Shared::default();
    let (ended, end) = oneshot::channel();
    let commanded = Arc::clone(&context);
    std::thread::spawn(move || drop(ended.send(obey(&commanded))));
    runtime.block_on(async {
        tokio::select! {
            ended = end => ended.unwrap_or_else(|_| Err(Failure::new("the thread that reads stdin has ended"))),
            served = serve(listener, context) => served,
        }
    })
}

/// Executes commands from stdin until it ends.
fn obey(context: &Recorder) -> Outcome<()> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let unknown = || Failure::new(format!("`{line}` is not a command"));
        let number =
            |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).ok_or_else(unknown);
        match words.first().copied().unwrap_or_default() {
            "delay" => {
                let delay = Delay { seat_ms: number(1)?, step_ms: number(2)?, synthesis_ms: number(3)? };
                let mut state = context.state.lock();
                state.delay = delay;
                state.seats = 0;
                drop(state);
                print("ok")?;
            }
            "size" => {
                let size = Size { bytes: number(1)? as usize, pieces: number(2)? as usize };
                context.state.lock().size = size;
                print("ok")?;
            }
            "packing" => {
                let packings = [Packing::Single, Packing::Coalesced];
                let named = |packing: &Packing| words.get(1) == Some(&packing.word());
                context.state.lock().packing = packings.into_iter().find(named).ok_or_else(unknown)?;
                print("ok")?;
            }
            "spread" => {
                context.state.lock().spread = Duration::from_millis(number(1)?);
                print("ok")?;
            }
            "take" => print(&serde_json::to_string(&std::mem::take(&mut context.settled().observed))?)?,
            "requests" => {
                let state = context.settled();
                let skipped = state.requests.len().saturating_sub(number(1)? as usize);
                let requests: Vec<&String> = state.requests.iter().skip(skipped).collect();
                print(&serde_json::to_string(&requests)?)?;
            }
            _ => return Err(unknown()),
        }
    }
    Ok(())
}

async fn serve(listener: TcpListener, context: Shared) -> Outcome<()> {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        context.state.lock().observed.connections += 1;
        connections.spawn(answer_all(stream, Arc::clone(&context)));
        while connections.try_join_next().is_some() {}
    }
}

/// Answers the requests of one connection. A broken connection is not a failure of the upstream.
async fn answer_all(mut stream: TcpStream, context: Shared) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(64 * 1024);
    while let Some(request) = read_request(&mut stream, &mut buffer).await? {
        let received_ns = now_ns();
        // A program asks for the list of models now and then, which is no call of a run.
        if request.starts_with("GET ") {
            stream.write_all(NO_LIST).await?;
            continue;
        }
        let synthesis = reply::nonce(&request).is_some();
        let Begun { response, delay, spread } = context.begin(&request, synthesis);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let last = if spread.is_zero() {
            &response[..]
        } else {
            write_slowly(&mut stream, &response, spread).await?
        };
        // Taken before the last write, because the client may run as soon as it has begun.
        let call = Call { synthesis, received_ns, done_ns: now_ns() };
        let written = stream.write_all(last).await;
        context.record(call, request);
        written?;
    }
    Ok(())
}

/// Writes all but the last part of a response, evenly over a time. Returns the last part.
async fn write_slowly<'a>(
    stream: &mut TcpStream,
    response: &'a [u8],
    spread: Duration,
) -> std::io::Result<&'a [u8]> {
    let begun = Instant::now();
    let mut parts = response.chunks(response.len().div_ceil(WRITES).max(1)).enumerate().peekable();
    while let Some((index, part)) = parts.next() {
        if parts.peek().is_none() {
            tokio::time::sleep_until(begun + spread).await;
            return Ok(part);
        }
        stream.write_all(part).await?;
        tokio::time::sleep_until(begun + spread * (index as u32 + 1) / WRITES as u32).await;
    }
    Ok(&[])
}

/// How a call is answered.
struct Begun {
    response: Bytes,
    delay: Duration,
    spread: Duration,
}

impl Recorder {
    /// Begins a call.
    fn begin(&self, request: &str, synthesis: bool) -> Begun {
        let mut state = self.state.lock();
        state.open += 1;
        let (size, packing, spread) = (state.size, state.packing, state.spread);
        let response = state.replies.response(size, packing, request);
        let Delay { seat_ms, step_ms, synthesis_ms } = state.delay;
        let step = state.seats % SEATS;
        state.seats += u64::from(!synthesis);
        let delay_ms = if synthesis { synthesis_ms } else { seat_ms + step * step_ms };
        Begun { response, delay: Duration::from_millis(delay_ms), spread }
    }

    /// Records a call whose reply was sent.
    fn record(&self, call: Call, request: String) {
        let mut state = self.state.lock();
        state.open -= 1;
        state.observed.calls.push(call);
        if state.requests.len() == RECORDED {
            state.requests.pop_front();
        }
        state.requests.push_back(request);
        self.recorded.notify_all();
    }

    /// The state, once every call in progress is recorded.
    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.recorded.wait_while_for(&mut state, |state| state.open > 0, SETTLE_MAX);
        state
    }
}

/// Reads the next request, head and body; `None` if the client has closed the connection.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<String>> {
    loop {
        if let Some(length) = request_length(buffer) {
            let rest = buffer.split_off(length);
            let request = std::mem::replace(buffer, rest);
            return Ok(Some(String::from_utf8_lossy(&request).into_owned()));
        }
        if buffer.len() > REQUEST_BYTES_MAX || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// The length of the first request in the bytes, if it is complete.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..head_end]).ok()?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let body = length.map_or(Some(0), |(_, value)| value.trim().parse().ok())?;
    (bytes.len() >= head_end + body).then_some(head_end + body)
}
