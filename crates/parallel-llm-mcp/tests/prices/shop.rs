//! A pretend router whose list of models and prices a test changes while it serves. It answers every chat, also of a model
//! that its list lacks, and records what each was allowed to cost.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// The models it sells, with what a token in and a token out cost, in USD. A call of `lab/gold` at the default cap costs 16.
pub(crate) const PRICES: [(&str, f64, f64); 3] =
    [("lab/cheap", 1e-8, 1e-7), ("lab/plain", 1e-8, 2e-7), (GOLD, 1e-4, 1e-3)];
/// The expensive one.
pub(crate) const GOLD: &str = "lab/gold";
/// A listener that hangs waits so long for the client to give up.
const HANG_MAX: Duration = Duration::from_secs(20);

/// What a client that asks for the list gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListState {
    /// The list as it is.
    Whole,
    /// A list without the expensive model, which is sold all the same.
    WithoutGold,
    /// A list in which the price of each model changes from call to call.
    Varying,
    /// An error.
    Unreachable,
    /// No answer.
    Hanging,
}

/// How requests for an answer end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    /// An answer that tells its cost.
    Billed,
    /// An answer that tells nothing of its cost.
    Unbilled,
    /// An error, also for the list.
    Broken,
}

/// A request for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Sale {
    pub(crate) model: String,
    /// The most it can cost by the prices of the shop, in USD: each byte of the request counted as a token.
    pub(crate) bound_usd: f64,
}

/// A shop that runs until it is dropped.
pub(crate) struct Shop {
    address: SocketAddr,
    shown: Arc<Mutex<(ListState, Replies)>>,
    sales: Arc<Mutex<Vec<Sale>>>,
    stopped: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Shop {
    pub(crate) fn new(state: ListState) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a local port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let state = Arc::new(Mutex::new((state, Replies::Billed)));
        let (sales, stopped) = (Arc::<Mutex<Vec<Sale>>>::default(), Arc::<AtomicBool>::default());
        let (shown, kept, is_stopped) = (Arc::clone(&state), Arc::clone(&sales), Arc::clone(&stopped));
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (shown, kept, is_stopped) =
                    (Arc::clone(&shown), Arc::clone(&kept), Arc::clone(&is_stopped));
                std::thread::spawn(move || serve(stream, &shown, &kept, &is_stopped));
            }
        });
        Self { address, shown: state, sales, stopped, serving: Some(serving) }
    }

    /// Its base URL, by which the program takes it for a router.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/api/v1", self.address)
    }

    pub(crate) fn show(&self, state: ListState) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).0 = state;
    }

    /// How requests end from now on.
    pub(crate) fn reply(&self, replies: Replies) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).1 = replies;
    }

    pub(crate) fn sales(&self) -> Vec<Sale> {
        self.sales.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, if it is still there.
        drop(TcpStream::connect(self.address));
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

/// The list of models, each of these at a multiple of its price.
pub(crate) fn list(models: &[(&str, f64, f64)], times: f64) -> Value {
    let model = |(id, input, output): &(&str, f64, f64)| {
        json!({"id": id, "name": id, "context_length": 200_000, "pricing": {
            "prompt": format!("{:.12}", input * times), "completion": format!("{:.12}", output * times),
        }})
    };
    json!({"data": models.iter().map(model).collect::<Vec<_>>()})
}

fn serve(
    mut stream: TcpStream,
    shown: &Mutex<(ListState, Replies)>,
    sales: &Mutex<Vec<Sale>>,
    stopped: &AtomicBool,
) {
    let Some((head, body)) = request(&mut stream) else { return };
    let (shown, replies) = *shown.lock().unwrap_or_else(PoisonError::into_inner);
    if replies == Replies::Broken {
        return reply(&mut stream, "500 Internal Server Error", "application/json", "{}");
    }
    if head.starts_with("POST") {
        sales.lock().unwrap_or_else(PoisonError::into_inner).extend(sale(&body));
        let piece = json!({"id": "gen-1", "choices": [{"index": 0, "delta": {"content": "Because."}}]});
        let mut last =
            json!({"id": "gen-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        if replies == Replies::Billed {
            last["usage"] = json!({"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.000_001});
        }
        let text = format!("data: {piece}\n\ndata: {last}\n\ndata: [DONE]\n\n");
        return reply(&mut stream, "200 OK", "text/event-stream", &text);
    }
    match shown {
        ListState::Whole => reply(&mut stream, "200 OK", "application/json", &list(&PRICES, 1.0).to_string()),
        ListState::WithoutGold => {
            reply(&mut stream, "200 OK", "application/json", &list(&PRICES[..2], 1.0).to_string());
        }
        ListState::Varying => {
            let prices = PRICES.map(|(id, ..)| (id, -1.0, -1.0));
            reply(&mut stream, "200 OK", "application/json", &list(&prices, 1.0).to_string());
        }
        ListState::Unreachable => reply(&mut stream, "503 Service Unavailable", "application/json", "{}"),
        ListState::Hanging => {
            let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
            let begun = tokio::time::Instant::now();
            // Ends when the client hangs up.
            while begun.elapsed() < HANG_MAX && !stopped.load(Ordering::SeqCst) {
                if matches!(stream.read(&mut [0; 16]), Ok(0)) {
                    return;
                }
            }
        }
    }
}

fn sale(body: &[u8]) -> Option<Sale> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let model = json["model"].as_str()?.to_owned();
    // A suffix chooses how a model is served.
    let (_, input, output) = PRICES.iter().find(|(id, ..)| model.split(':').next() == Some(id))?;
    let cap = json["max_completion_tokens"].as_f64().or_else(|| json["max_tokens"].as_f64());
    let bound_usd = input * body.len() as f64 + output * cap.expect("a call has an output cap");
    Some(Sale { model, bound_usd })
}

fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok()).flatten()
        });
        let length: usize = length.unwrap_or_default();
        if bytes.len() >= end + 4 + length {
            return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
        }
    }
}

fn reply(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + body).as_bytes());
}
