//! The open connections: their limit, and which one is evicted for a new one.
//!
//! Invariants: a connection with a request in progress is never evicted; a client that opens connections without
//! requests locks nobody out, not even itself.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The connections of a server. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    open_max: usize,
    table: Arc<Mutex<Table>>,
    /// Notified when a connection ends or becomes idle.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Table {
    /// A logical clock that orders connections and the starts of idle times.
    clock: u64,
    open: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    peer: IpAddr,
    /// Whether it has received a complete request.
    has_asked: bool,
    /// The start of its idle time; `None` while a request is in progress.
    idle_since: Option<u64>,
    evicted: CancellationToken,
}

/// An open connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    all: Connections,
    id: u64,
    evicted: CancellationToken,
}

/// A request in progress, until it is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Connection>);

impl Connections {
    /// No connections, with this limit.
    pub(super) fn new(connections_max: usize) -> Self {
        Self { open_max: connections_max, table: Arc::default(), changed: Arc::default() }
    }

    /// Admits a connection. At the limit, an idle one is evicted; if none is idle, the new one waits.
    pub(super) async fn admit(&self, peer: IpAddr) -> Connection {
        loop {
            let changed = self.changed.notified();
            if let Some(connection) = self.try_admit(peer) {
                return connection;
            }
            changed.await;
        }
    }

    fn try_admit(&self, peer: IpAddr) -> Option<Connection> {
        let mut table = self.table.lock();
        if table.open.len() >= self.open_max {
            let evicted = table.to_evict()?;
            table.open.remove(&evicted)?.evicted.cancel();
        }
        let id = table.tick();
        let evicted = CancellationToken::new();
        let entry = Entry { peer, has_asked: false, idle_since: Some(id), evicted: evicted.clone() };
        table.open.insert(id, entry);
        Some(Connection { all: self.clone(), id, evicted })
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The connection to evict: of those without any request, else of the idle ones, the longest idle one of the peer
    /// with the most of them. So a peer with many loses its own first; behind a proxy, where all peers look the same,
    /// it is the oldest.
    fn to_evict(&self) -> Option<u64> {
        let first_of = |has_asked: bool| {
            let is_candidate = |entry: &Entry| entry.has_asked == has_asked && entry.idle_since.is_some();
            let mut of_peer = HashMap::<IpAddr, usize>::new();
            for entry in self.open.values().filter(|entry| is_candidate(entry)) {
                *of_peer.entry(entry.peer).or_default() += 1;
            }
            let most = of_peer.values().copied().max()?;
            let candidates =
                self.open.iter().filter(|(_, entry)| is_candidate(entry) && of_peer[&entry.peer] == most);
            candidates.min_by_key(|(_, entry)| entry.idle_since).map(|(id, _)| *id)
        };
        first_of(false).or_else(|| first_of(true))
    }
}

impl Connection {
    /// Returns when the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Marks a request as in progress until its answer is written.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        if let Some(entry) = self.all.table.lock().open.get_mut(&self.id) {
            (entry.has_asked, entry.idle_since) = (true, None);
        }
        Busy(Arc::clone(self))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.table.lock().open.remove(&self.id);
        self.all.changed.notify_one();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Connection { all, id, .. } = self.0.as_ref();
        let mut table = all.table.lock();
        let now = table.tick();
        if let Some(entry) = table.open.get_mut(id) {
            entry.idle_since = Some(now);
        }
        drop(table);
        all.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Admits connections of these peers in turn: an upper-case letter has a request in flight, a letter with a mark has an
    /// answered one. Returns those that are closed.
    #[track_caller]
    fn check(connections_max: usize, peers: &[&str], expected: &[usize]) {
        let connections = Connections::new(connections_max);
        let mut open = Vec::new();
        let mut busy = Vec::new();
        for peer in peers {
            let number = peer.to_ascii_lowercase().as_bytes()[0];
            let Some(connection) = connections.try_admit(IpAddr::from([10, 0, 0, number])) else {
                open.push(None);
                continue;
            };
            let connection = Arc::new(connection);
            if peer.chars().all(|letter| letter.is_ascii_uppercase()) {
                busy.push(connection.busy());
            } else if peer.ends_with('\'') {
                drop(connection.busy());
            }
            open.push(Some(connection));
        }
        let is_evicted = |connection: &Option<Arc<Connection>>| {
            connection.as_ref().is_none_or(|connection| connection.evicted.is_cancelled())
        };
        let evicted: Vec<usize> = (0..open.len()).filter(|at| is_evicted(&open[*at])).collect();
        assert_eq!(evicted, expected, "{peers:?}");
        assert_eq!(connections.table.lock().open.len(), open.len() - evicted.len());
    }

    #[test]
    fn a_connection_without_a_request_is_closed_first() {
        check(3, &["a", "a", "a"], &[]);
        check(3, &["a", "a", "a", "a"], &[0]);
        check(3, &["a", "A", "a", "a", "a"], &[0, 2]);
        check(3, &["a'", "a", "b", "c"], &[1]);
        check(3, &["a'", "b'", "C", "d'"], &[0]);
        check(3, &["b", "a", "a", "c"], &[1]);
        check(2, &["A", "B", "c"], &[2]);
    }
}
