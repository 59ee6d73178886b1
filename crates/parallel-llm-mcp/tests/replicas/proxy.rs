//! A way to the database that fails as networks do.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What the way does with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It passes them on.
    Open,
    /// It ends all connections, and takes no more.
    Cut,
    /// They vanish, and the connections stay.
    Hole,
    /// Those of the database vanish, as if it did not answer.
    NoAnswers,
    /// Those to the database vanish.
    NoQuestions,
    /// It passes them on half of this time later.
    Slow(Duration),
}

impl Way {
    /// Whether bytes vanish on their way to the database, or from it.
    fn swallows(self, is_question: bool) -> bool {
        match self {
            Self::Hole => true,
            Self::NoAnswers => !is_question,
            Self::NoQuestions => is_question,
            Self::Open | Self::Cut | Self::Slow(_) => false,
        }
    }
}

/// A way to the database.
pub(super) struct Proxy {
    pub(super) port: u16,
    way: Arc<Mutex<Way>>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A way to this address. Its threads end with the streams, and the last with the test.
    pub(super) fn to(far: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let way = Arc::new(Mutex::new(Way::Open));
        let streams: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let proxy = Self { port, way: Arc::clone(&way), streams: Arc::clone(&streams) };
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let is_cut = *way.lock().expect("nobody panics") == Way::Cut;
                let Some(far) = TcpStream::connect(far).ok().filter(|_| !is_cut) else { continue };
                let copies = [&near, &near, &far, &far].map(|stream| stream.try_clone().expect("a stream"));
                let [near_in, near_out, far_in, far_out] = copies;
                streams.lock().expect("nobody panics").extend([near, far]);
                for (from, to, is_question) in [(near_in, far_out, true), (far_in, near_out, false)] {
                    let way = Arc::clone(&way);
                    thread::spawn(move || drop(pass_on(from, to, is_question, &way)));
                }
            }
        });
        proxy
    }

    pub(super) fn set(&self, way: Way) {
        *self.way.lock().expect("nobody panics") = way;
        if way == Way::Cut {
            for stream in self.streams.lock().expect("nobody panics").drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Passes bytes on to the end of the stream. A stream that has lost some leads nowhere from then on.
fn pass_on(mut from: TcpStream, mut to: TcpStream, is_question: bool, way: &Mutex<Way>) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    let mut has_lost = false;
    loop {
        let count = from.read(&mut bytes)?;
        let now = *way.lock().expect("nobody panics");
        if let Way::Slow(round_trip) = now {
            #[expect(clippy::disallowed_methods, reason = "a thread of the network's own")]
            thread::sleep(round_trip / 2);
        }
        has_lost |= now.swallows(is_question);
        match count {
            0 => return to.shutdown(Shutdown::Both),
            _ if has_lost => {}
            count => to.write_all(&bytes[..count])?,
        }
    }
}
