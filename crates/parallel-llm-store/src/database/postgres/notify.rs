//! Notifications between the processes that share a server: which runs have changed.
//!
//! They are sent after the commit that they tell of, in a transaction of their own that waits for no disk: the server sends
//! them in the order of commits, and would hold up all other commits while one that notifies is written.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;

use crate::history::changes::Change;

/// The runs that a transaction changes: the newest event of each, or `None` if only an unfinished text has grown.
pub(super) type ChangedRuns = BTreeMap<String, Option<i64>>;

/// The channel of a database's processes. Those of other schemas have ids of their own.
#[derive(Debug)]
pub(super) struct Channel(String);

impl Channel {
    /// The channel of the database with this id, which is a UUID.
    pub(super) fn of(database_id: &str) -> Self {
        let plain = database_id.chars().filter(|one| one.is_ascii_alphanumeric() || *one == '-');
        Self(format!("parallel_llm_{}", plain.collect::<String>()))
    }

    /// The command that listens.
    pub(super) fn listen(&self) -> String {
        format!("LISTEN \"{}\"", self.0)
    }

    /// The commands that commit a transaction and tell of these runs.
    pub(super) fn commit(&self, changed: &ChangedRuns) -> String {
        if changed.is_empty() {
            return "COMMIT".to_owned();
        }
        // An id consists of digits and letters.
        let tell = |(run_id, seq): (&String, &Option<i64>)| {
            let seq = seq.map(|seq| format!(" {seq}")).unwrap_or_default();
            format!("pg_notify('{}', '{run_id}{seq}')", self.0)
        };
        let told: Vec<String> = changed.iter().map(tell).collect();
        format!("COMMIT; BEGIN; SET LOCAL synchronous_commit = off; SELECT {}; COMMIT", told.join(", "))
    }
}

/// The change of which this notification tells. Anybody with access to the database may have sent it.
pub(super) fn read(payload: &str) -> Change {
    let read = || {
        let (run_id, seq) = match payload.split_once(' ') {
            Some((run_id, seq)) => (run_id, Some(seq.parse::<u64>().ok()?)),
            None => (payload, None),
        };
        let run_id: RunId = run_id.parse().ok()?;
        Some(seq.map_or(Change::Text { run_id }, |seq| Change::Events { run_id, seq }))
    };
    read().unwrap_or(Change::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_says_which_run_has_changed() {
        let run_id = RunId::from_parts(7, 7);
        assert_eq!(read(&format!("{run_id} 12")), Change::Events { run_id, seq: 12 });
        assert_eq!(read(&run_id.to_string()), Change::Text { run_id });
        for strange in ["", "x", "12 12", &format!("{run_id} -1"), &format!("{run_id} 1 2"), "' \0"] {
            assert_eq!(read(strange), Change::Any, "{strange:?}");
        }
    }

    #[test]
    fn a_commit_tells_of_its_runs() {
        let channel = Channel::of("a0-b1'; \"");
        assert_eq!(channel.listen(), "LISTEN \"parallel_llm_a0-b1\"");
        assert_eq!(channel.commit(&ChangedRuns::new()), "COMMIT");
        let changed = [("R1".to_owned(), Some(3)), ("R2".to_owned(), None)].into();
        assert_eq!(
            channel.commit(&changed),
            "COMMIT; BEGIN; SET LOCAL synchronous_commit = off; \
             SELECT pg_notify('parallel_llm_a0-b1', 'R1 3'), pg_notify('parallel_llm_a0-b1', 'R2'); COMMIT"
        );
    }
}
