//! What is measured: how many seats answer, how long their answers are, and how many questions are asked at once.

use crate::programs::reply::{Packing, Size};

/// A measured program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// The bare client.
    Floor,
    /// The program without a store and without files.
    NothingStored,
    /// The program as it is installed, its data on a memory file system.
    Default,
    /// The same with its data on the disk.
    DefaultOnDisk,
    /// A Python server: aiohttp, whole replies, files, no journal.
    Python,
    /// The same with streamed replies.
    PythonStreaming,
}

impl Program {
    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::NothingStored => "nothing stored",
            Self::Default => "default",
            Self::DefaultOnDisk => "default, on disk",
            Self::Python => "Python, whole",
            Self::PythonStreaming => "Python, streaming",
        }
    }

    /// Whether it is the Python server.
    pub const fn is_python(self) -> bool {
        matches!(self, Self::Python | Self::PythonStreaming)
    }
}

/// How questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// One after the other.
    InTurn,
    /// Always this many at once: each answer is followed by the next question.
    Constantly(usize),
    /// This many at once, and no more until all are answered.
    AtOnce(usize),
}

impl Asking {
    /// Questions at once.
    pub const fn at_once(self) -> usize {
        match self {
            Self::InTurn => 1,
            Self::Constantly(at_once) | Self::AtOnce(at_once) => at_once,
        }
    }
}

/// One thing to measure.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name in the tables.
    pub name: &'static str,
    /// The programs that take turns, the floor first.
    pub programs: &'static [Program],
    /// Seats of the panel. A synthesis follows them.
    pub seats: usize,
    /// The size of each answer.
    pub size: Size,
    /// How the events of an answer reach their reader.
    pub packing: Packing,
    /// How questions are asked.
    pub asking: Asking,
    /// The time over which each reply is written; 0 for as fast as it is read.
    pub spread_ms: u64,
}

impl Workload {
    /// The time that the replies of a run take: those of its seats, then the synthesis.
    pub const fn run_ms(&self) -> u64 {
        2 * self.spread_ms
    }
}

/// One question after the other to the default panel.
pub const IN_TURN: Workload = Workload {
    name: "one at a time",
    programs: &[
        Program::Floor,
        Program::NothingStored,
        Program::Default,
        Program::DefaultOnDisk,
        Program::Python,
        Program::PythonStreaming,
    ],
    seats: 5,
    size: Size::USUAL,
    packing: Packing::Single,
    asking: Asking::InTurn,
    spread_ms: 0,
};

/// The same with coalesced streams.
pub const COALESCED: Workload =
    Workload { name: "one at a time, coalesced", packing: Packing::Coalesced, ..IN_TURN };

/// Always thirty-two questions at once.
pub const THIRTY_TWO: Workload = Workload {
    name: "32 at once",
    programs: &[Program::Floor, Program::NothingStored, Program::Default],
    asking: Asking::Constantly(32),
    ..IN_TURN
};

/// A panel of fifty seats.
pub const FIFTY_SEATS: Workload =
    Workload { name: "50 seats", programs: &[Program::Floor, Program::Default], seats: 50, ..IN_TURN };

/// Six answers of a megabyte.
pub const LONG_ANSWERS: Workload = Workload {
    name: "answers of 1 MB",
    programs: &[Program::Floor, Program::Default],
    size: Size { bytes: 1_000_000, pieces: 180_000 },
    ..IN_TURN
};

/// A thousand questions at once, whose replies take a second each.
pub const THOUSAND: Workload = Workload {
    name: "1,000 at once",
    programs: &[Program::Floor, Program::Default],
    asking: Asking::AtOnce(1_000),
    spread_ms: 1_000,
    ..IN_TURN
};

/// All workloads, in the order in which they are measured.
pub const ALL: [Workload; 6] = [IN_TURN, COALESCED, THIRTY_TWO, FIFTY_SEATS, LONG_ANSWERS, THOUSAND];

/// The programs of the curves.
const DRAWN: &[Program] =
    &[Program::Floor, Program::NothingStored, Program::Default, Program::Python, Program::PythonStreaming];
/// The points of the first curve: questions at once.
const AT_ONCE: [(&str, usize); 6] = [
    ("1 at once", 1),
    ("4 at once", 4),
    ("16 at once", 16),
    ("64 at once", 64),
    ("256 at once", 256),
    ("1,000 at once", 1_000),
];
/// The points of the second curve: the size of an answer in kB.
const ANSWER_KB: [(&str, usize); 4] = [
    ("answers of 1 kB", 1),
    ("answers of 10 kB", 10),
    ("answers of 100 kB", 100),
    ("answers of 1 MB", 1_000),
];
/// The time that a reply takes in the first curve.
const CURVE_SPREAD_MS: u64 = 500;

/// What the plots show: more and more questions at once, whose replies take a time, then longer and longer answers, one at a time.
pub fn curves() -> Vec<Workload> {
    let at_once = AT_ONCE.map(|(name, at_once)| Workload {
        name,
        programs: DRAWN,
        asking: if at_once == 1 { Asking::InTurn } else { Asking::Constantly(at_once) },
        spread_ms: CURVE_SPREAD_MS,
        ..IN_TURN
    });
    let sizes = ANSWER_KB.map(|(name, kilobytes)| Workload {
        name,
        programs: DRAWN,
        size: Size { bytes: Size::USUAL.bytes * kilobytes, pieces: Size::USUAL.pieces * kilobytes },
        ..IN_TURN
    });
    at_once.into_iter().chain(sizes).collect()
}
