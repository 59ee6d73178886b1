//! The upstream of a measurement: a deterministic provider on loopback.
//!
//! It prints its address, then reads commands from stdin and answers each with one line on stdout: `delay SEAT STEP SYNTHESIS`
//! sets the delay of each kind of call in milliseconds, with a step more for each further seat of five; `take` returns the
//! calls since the last query; `requests` returns the last six requests. It parses HTTP itself, because a library would record
//! times only at its next poll. It ends with its stdin.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_bench::call::{Call, Observed};
use parallel_llm_bench::clock::now_ns;
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::reply;
use parallel_llm_bench::upstream::Delay;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The number of seats of a panel, after which the steps begin again.
const SEATS: u64 = 5;
/// The number of recorded requests: those of one run.
const RECORDED: usize = 6;
/// The longest wait for calls in progress before a query is answered.
const SETTLE_MAX: Duration = Duration::from_secs(1);
/// The longest request.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Default)]
struct State {
    observed: Observed,
    requests: Vec<String>,
    delay: Delay,
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
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            #[expect(clippy::print_stderr, reason = "a measuring tool prints to a terminal")]
            {
                eprintln!("upstream: {failure}");
            }
            ExitCode::FAILURE
        }
    }
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
        match words.as_slice() {
            ["delay", numbers @ ..] => {
                let number =
                    |index: usize| numbers.get(index).and_then(|word| word.parse().ok()).unwrap_or(0);
                let mut state = context.state.lock();
                state.delay = Delay { seat_ms: number(0), step_ms: number(1), synthesis_ms: number(2) };
                state.seats = 0;
                drop(state);
                print("ok")?;
            }
            ["take"] => print(&serde_json::to_string(&std::mem::take(&mut context.settled().observed))?)?,
            ["requests"] => print(&serde_json::to_string(&std::mem::take(&mut context.settled().requests))?)?,
            _ => return Err(Failure::new(format!("`{line}` is not a command"))),
        }
    }
    Ok(())
}

fn print(line: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
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
        let nonce = reply::nonce(&request);
        let response = reply::response(nonce);
        let delay = context.begin(nonce.is_some());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        // Taken before the write, because the client may run as soon as it has begun.
        let call = Call { synthesis: nonce.is_some(), received_ns, done_ns: now_ns() };
        let written = stream.write_all(&response).await;
        context.record(call, request);
        written?;
    }
    Ok(())
}

impl Recorder {
    /// Begins a call. Returns its delay.
    fn begin(&self, synthesis: bool) -> Duration {
        let mut state = self.state.lock();
        state.open += 1;
        let Delay { seat_ms, step_ms, synthesis_ms } = state.delay;
        if synthesis {
            return Duration::from_millis(synthesis_ms);
        }
        let step = state.seats % SEATS;
        state.seats += 1;
        Duration::from_millis(seat_ms + step * step_ms)
    }

    /// Records a call whose reply was sent.
    fn record(&self, call: Call, request: String) {
        let mut state = self.state.lock();
        state.open -= 1;
        state.observed.calls.push(call);
        if state.requests.len() == RECORDED {
            state.requests.remove(0);
        }
        state.requests.push(request);
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
