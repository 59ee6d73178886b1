//! Ten times the load that a server can do: what it still answers, how fast it refuses, and how soon it is itself again.
//!
//! It first looks for the number of callers that wait for each answer with which most are answered, and lets that many ask for
//! as long as the load will last: their rate is the peak. Then it sends ten times as many requests, whether or not earlier ones
//! are answered, then none, and looks at single questions. The server is the program as it is
//! installed, over HTTP, its data on a memory file system; the upstream, the load and the server share the machine.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a measuring tool prints to a terminal")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::measure::setup::Setup;
use parallel_llm_bench::measure::workload::{IN_TURN, Program};
use parallel_llm_bench::programs::upstream::Delay;
use parking_lot::Mutex;
use plotters::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

/// How long each reply of the upstream takes.
const DELAY: Delay = Delay { seat_ms: 300, step_ms: 0, synthesis_ms: 300 };
/// Callers at once while the peak is looked for, and how long each number of them asks.
const CALLERS: [usize; 5] = [64, 128, 192, 256, 380];
const LOOK_TIME: Duration = Duration::from_secs(10);
/// The load as a multiple of the peak, and how long it lasts.
const OVERLOAD: f64 = 10.0;
const OVERLOAD_TIME: Duration = Duration::from_secs(30);
/// How long single questions are looked at afterwards, and how often one is asked.
const AFTER_TIME: Duration = Duration::from_secs(15);
const AFTER_EVERY: Duration = Duration::from_millis(250);
/// The longest wait for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// The status of a refusal, and when it says to ask again.
const REFUSED: u16 = 503;
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How often requests are sent under the load.
const TICK: Duration = Duration::from_millis(10);
/// What must hold: the least goodput, and the longest recovery.
const GOODPUT_MIN: f64 = 0.9;
const RECOVERY_MAX: Duration = Duration::from_secs(10);
const PLOT: (u32, u32) = (760, 420);

/// One request, in seconds since the beginning of its phase.
#[derive(Clone, Copy, Debug)]
struct Request {
    sent_s: f64,
    took_s: f64,
    /// 0 if the connection broke.
    status: u16,
}

/// The requests of a phase.
type Requests = Arc<Mutex<Vec<Request>>>;

/// Connections that are kept for later requests.
#[derive(Clone, Default)]
struct Client {
    idle: Arc<Mutex<Vec<BufReader<TcpStream>>>>,
}

/// The server, which ends when this is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--program", program, "--scratch", scratch] => run(Path::new(program), scratch.into(), None),
        ["--program", program, "--scratch", scratch, "--plot", plot] => {
            run(Path::new(program), scratch.into(), Some(Path::new(plot)))
        }
        _ => Err(Failure::new("it takes `--program FILE --scratch FOLDER`, and `--plot FILE.svg`")),
    };
    done.map_or_else(
        |failure| {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn run(program: &Path, scratch: PathBuf, plot: Option<&Path>) -> Outcome<()> {
    let mut setup = Setup::start(program.to_owned(), None, scratch)?;
    setup.upstream.delay(DELAY)?;
    let address = free_address()?;
    let mut command: Command = setup.environment(program, Program::Default, &IN_TURN)?;
    command.env("PARALLEL_LLM_FILES", "off");
    command.args(["serve", "--no-auth", "--http", &address.to_string()]);
    let server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let server = Server(server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = runtime.block_on(measure(address, plot));
    drop(server);
    setup.close()?;
    measured
}

fn free_address() -> Outcome<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

async fn measure(address: SocketAddr, plot: Option<&Path>) -> Outcome<()> {
    let client = Client::default();
    let begun = Instant::now();
    while client.ask(address).await.is_none_or(|status| status != 200) {
        if begun.elapsed() > Duration::from_secs(20) {
            return Err(Failure::new("the server does not answer"));
        }
        sleep(Duration::from_millis(100)).await;
    }
    let alone = median(&after(&client, address, Duration::from_secs(3)).await);
    println!("one at a time: {:.0} ms", alone * 1e3);
    let (mut best, mut most) = (0, 0.0_f64);
    for callers in CALLERS {
        let rate = closed(&client, address, callers, LOOK_TIME).await;
        if rate > most {
            (best, most) = (callers, rate);
        }
    }
    // The best of several short looks is too good by chance.
    let peak = closed(&client, address, best, OVERLOAD_TIME).await;
    let loaded = open(&client, address, peak * OVERLOAD).await;
    let afterwards = after(&client, address, AFTER_TIME).await;
    report(&loaded, &afterwards, peak, alone, plot)
}

/// Says what came of the load, and fails if the server did not hold.
fn report(
    loaded: &[Request],
    afterwards: &[Request],
    peak: f64,
    alone: f64,
    plot: Option<&Path>,
) -> Outcome<()> {
    let seconds = OVERLOAD_TIME.as_secs_f64();
    // An answer counts when it arrives; those that arrive after the load are not its goodput.
    let in_time = |request: &&Request| request.status == 200 && request.sent_s + request.took_s <= seconds;
    let goodput = loaded.iter().filter(in_time).count() as f64 / seconds;
    let mut refusals: Vec<f64> =
        loaded.iter().filter(|request| request.status == REFUSED).map(|request| request.took_s).collect();
    refusals.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = refusals.len().saturating_sub(1) as f64;
        refusals.get((last * share) as usize).copied().unwrap_or_default() * 1e3
    };
    let other = loaded.iter().filter(|request| !matches!(request.status, 200 | REFUSED)).count();
    println!(
        "{:.0} requests/s for {seconds} s: {goodput:.0} answers/s ({:.0} % of the peak), {} refusals in {:.1} ms (median) and {:.0} ms (99 of 100), {other} neither",
        loaded.len() as f64 / seconds,
        goodput / peak * 100.0,
        refusals.len(),
        at(0.5),
        at(0.99),
    );
    let is_well = |request: &Request| request.status == 200 && request.took_s <= alone * 1.5;
    let ill = afterwards.iter().rposition(|request| !is_well(request));
    let recovery = ill.map_or(0.0, |last| afterwards[last].sent_s + afterwards[last].took_s);
    println!("afterwards: a question takes its usual time after {recovery:.1} s");
    if let Some(path) = plot {
        draw(path, loaded, afterwards, peak)
            .map_err(|error| Failure::new(format!("the plot cannot be drawn: {error}")))?;
    }
    if goodput < peak * GOODPUT_MIN || recovery > RECOVERY_MAX.as_secs_f64() {
        return Err(Failure::new("the server does not hold what is promised"));
    }
    Ok(())
}

/// The answers in a second to callers that ask again as soon as they are answered.
async fn closed(client: &Client, address: SocketAddr, callers: usize, time: Duration) -> f64 {
    let (requests, begun) = (Requests::default(), Instant::now());
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        let (client, requests) = (client.clone(), Arc::clone(&requests));
        tasks.spawn(async move {
            while begun.elapsed() < time {
                if client.record(address, begun, &requests).await == REFUSED {
                    sleep(AGAIN_AFTER).await;
                }
            }
        });
    }
    tasks.join_all().await;
    let seconds = time.as_secs_f64();
    let mut requests = std::mem::take(&mut *requests.lock());
    requests.retain(|request| request.sent_s + request.took_s <= seconds);
    let rate = answered(&requests) as f64 / seconds;
    println!("{callers} callers that wait: {rate:.0} answers/s, median {:.0} ms", median(&requests) * 1e3);
    rate
}

/// So many requests a second, whatever becomes of earlier ones.
async fn open(client: &Client, address: SocketAddr, rate: f64) -> Vec<Request> {
    let (requests, begun) = (Requests::default(), Instant::now());
    let (mut tasks, mut ticks, mut sent) = (JoinSet::new(), interval(TICK), 0_u64);
    // The server closes those that were idle for long.
    client.idle.lock().clear();
    while begun.elapsed() < OVERLOAD_TIME {
        ticks.tick().await;
        let due = (begun.elapsed().as_secs_f64() * rate) as u64;
        for _ in sent..due {
            let (client, requests) = (client.clone(), Arc::clone(&requests));
            tasks.spawn(async move { client.record(address, begun, &requests).await });
        }
        sent = sent.max(due);
        while tasks.try_join_next().is_some() {}
    }
    // The load ends here: what is still waiting is given up, as by callers that leave.
    let unanswered = tasks.len();
    tasks.shutdown().await;
    client.idle.lock().clear();
    println!("{unanswered} requests were still waiting when the load ended");
    std::mem::take(&mut *requests.lock())
}

/// Single questions at intervals.
async fn after(client: &Client, address: SocketAddr, time: Duration) -> Vec<Request> {
    let (requests, begun) = (Requests::default(), Instant::now());
    while begun.elapsed() < time {
        client.record(address, begun, &requests).await;
        sleep(AFTER_EVERY).await;
    }
    std::mem::take(&mut *requests.lock())
}

impl Client {
    /// Asks, notes what comes of it, and returns its status.
    async fn record(&self, address: SocketAddr, begun: Instant, requests: &Requests) -> u16 {
        let sent = begun.elapsed();
        let status = timeout(ANSWER_MAX, self.ask(address)).await.ok().flatten().unwrap_or_default();
        let took_s = begun.elapsed().saturating_sub(sent).as_secs_f64();
        requests.lock().push(Request { sent_s: sent.as_secs_f64(), took_s, status });
        if status == 0 {
            // A caller without a connection waits a little before the next.
            sleep(Duration::from_millis(50)).await;
        }
        status
    }

    /// Asks a question, and returns the status of the answer; `None` if the connection broke.
    async fn ask(&self, address: SocketAddr) -> Option<u16> {
        let kept = self.idle.lock().pop();
        let mut stream = match kept {
            Some(stream) => stream,
            None => BufReader::new(TcpStream::connect(address).await.ok()?),
        };
        // Each question is another one: the same one twice would be one run.
        let number = parallel_llm_bench::clock::now_ns();
        let body = format!(
            "{{\"model\":\"panel/default\",\"messages\":[{{\"role\":\"user\",\"content\":\"Is it safe? {number}\"}}]}}"
        );
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.get_mut().write_all(format!("{head}{body}").as_bytes()).await.ok()?;
        let (mut status, mut length, mut line) = (None, 0, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let text = line.trim_end().to_ascii_lowercase();
            if text.is_empty() {
                break;
            }
            status = status.or_else(|| text.split(' ').nth(1)?.parse().ok());
            length =
                text.strip_prefix("content-length: ").and_then(|count| count.parse().ok()).unwrap_or(length);
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).await.ok()?;
        self.idle.lock().push(stream);
        status
    }
}

fn answered(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.status == 200).count()
}

/// The median time to an answer, in seconds.
fn median(requests: &[Request]) -> f64 {
    let mut times: Vec<f64> =
        requests.iter().filter(|request| request.status == 200).map(|request| request.took_s).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Draws answers and refusals in each second, before and after the end of the load.
fn draw(
    path: &Path,
    loaded: &[Request],
    afterwards: &[Request],
    peak: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let load_s = OVERLOAD_TIME.as_secs_f64();
    let end_s = load_s + AFTER_TIME.as_secs_f64();
    let later = afterwards.iter().map(|request| Request { sent_s: request.sent_s + load_s, ..*request });
    let all: Vec<Request> = loaded.iter().copied().chain(later).collect();
    let in_each = |status: u16| -> Vec<(f64, f64)> {
        let mut counts = vec![0.0_f64; end_s as usize + 1];
        for request in all.iter().filter(|request| request.status == status) {
            if let Some(count) = counts.get_mut((request.sent_s + request.took_s) as usize) {
                *count += 1.0;
            }
        }
        counts.iter().zip(0..).map(|(count, second)| (f64::from(second), count.max(0.5))).collect()
    };
    let whole = |value: &f64| format!("{value:.0}");
    let root = SVGBackend::new(path, PLOT).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            "Ten times the load for thirty seconds, then one question at a time",
            ("Helvetica, Arial, sans-serif", 17),
        )
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..end_s, (0.5..peak * OVERLOAD * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("in each second")
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()?;
    for (name, status, colour) in
        [("answers", 200, RGBColor(0, 114, 178)), ("refusals", REFUSED, RGBColor(213, 94, 0))]
    {
        chart
            .draw_series(LineSeries::new(in_each(status), colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    let grey = RGBColor(110, 119, 129);
    chart
        .draw_series(LineSeries::new([(0.0, peak), (end_s, peak)], grey))?
        .label("peak without overload")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], grey));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE)
        .draw()?;
    root.present()?;
    Ok(())
}
