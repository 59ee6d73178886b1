//! The connections that are open: how many there may be, and which of them goes where one more comes.
//!
//! What always holds: a connection on which a request is being answered never goes; whoever opens connections and asks
//! nothing keeps nobody out, himself neither.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The connections of one server. Clones are one.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    open_max: usize,
    table: Arc<Mutex<Table>>,
    /// Told when one ends, or has nothing to do any more.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Table {
    /// Counts connections, and moments at which one begins to wait: the smaller number was first.
    clock: u64,
    open: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    peer: IpAddr,
    /// Whether a whole request has come on it.
    has_asked: bool,
    /// Since when it waits for a request; `None` while one is answered.
    waits_since: Option<u64>,
    gone: CancellationToken,
}

/// One open connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    all: Connections,
    id: u64,
    gone: CancellationToken,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Connection>);

impl Connections {
    /// None yet, of so many at most.
    pub(super) fn new(connections_max: usize) -> Self {
        Self { open_max: connections_max, table: Arc::default(), changed: Arc::default() }
    }

    /// Takes one more in. Where there are as many as there may be, one that waits for a request goes; where none does,
    /// this one waits.
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
        let mut table = self.lock();
        if table.open.len() >= self.open_max {
            let leaves = table.first_to_go()?;
            table.open.remove(&leaves)?.gone.cancel();
        }
        let id = table.tick();
        let gone = CancellationToken::new();
        let entry = Entry { peer, has_asked: false, waits_since: Some(id), gone: gone.clone() };
        table.open.insert(id, entry);
        Some(Connection { all: self.clone(), id, gone })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Of the connections that never asked anything, else of those that wait for their next request: the one that waits
    /// longest, of the peer that has most of them. So a peer with many gives up its own first, and behind a proxy, where
    /// all peers are one, it is the oldest.
    fn first_to_go(&self) -> Option<u64> {
        let first_of = |has_asked: bool| {
            let is_meant = |entry: &Entry| entry.has_asked == has_asked && entry.waits_since.is_some();
            let mut of_peer = HashMap::<IpAddr, usize>::new();
            for entry in self.open.values().filter(|entry| is_meant(entry)) {
                *of_peer.entry(entry.peer).or_default() += 1;
            }
            let most = of_peer.values().copied().max()?;
            let meant = self.open.iter().filter(|(_, entry)| is_meant(entry) && of_peer[&entry.peer] == most);
            meant.min_by_key(|(_, entry)| entry.waits_since).map(|(id, _)| *id)
        };
        first_of(false).or_else(|| first_of(true))
    }
}

impl Connection {
    /// Returns when it has to go.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Takes note of a request that has come on it, until its answer has been written.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        if let Some(entry) = self.all.lock().open.get_mut(&self.id) {
            (entry.has_asked, entry.waits_since) = (true, None);
        }
        Busy(Arc::clone(self))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().open.remove(&self.id);
        self.all.changed.notify_one();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Connection { all, id, .. } = self.0.as_ref();
        let mut table = all.lock();
        let now = table.tick();
        if let Some(entry) = table.open.get_mut(id) {
            entry.waits_since = Some(now);
        }
        drop(table);
        all.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Admits connections of these peers in turn, the capital ones with a request under way and those with a mark behind
    /// an answered one, and says which go.
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
        let is_gone = |connection: &Option<Arc<Connection>>| {
            connection.as_ref().is_none_or(|connection| connection.gone.is_cancelled())
        };
        let gone: Vec<usize> = (0..open.len()).filter(|at| is_gone(&open[*at])).collect();
        assert_eq!(gone, expected, "{peers:?}");
        assert_eq!(connections.lock().open.len(), open.len() - gone.len());
    }

    #[test]
    fn whoever_asks_nothing_goes_first() {
        check(3, &["a", "a", "a"], &[]);
        check(3, &["a", "a", "a", "a"], &[0]);
        check(3, &["a", "A", "a", "a", "a"], &[0, 2]);
        check(3, &["a'", "a", "b", "c"], &[1]);
        check(3, &["a'", "b'", "C", "d'"], &[0]);
        check(3, &["b", "a", "a", "c"], &[1]);
        check(2, &["A", "B", "c"], &[2]);
    }
}
