//! When the program is killed, written as one line, so that a failure can be repeated.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Random plans are the same in every run of the tests.
const SEED: u64 = 0x006b_696c_6c2d_3921;
/// The part of the usual time of a whole run over which kills are drawn: all of it while asking, a part while resuming,
/// because half of the work is done.
const SHARES: [f64; 2] = [1.0, 0.6];

/// When to kill the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    /// At the failpoint with this number.
    At(u32),
    /// This long after the start.
    After(Duration),
    /// Not at all.
    Never,
}

/// The panel, and what goes wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panel {
    /// The straggler is cancelled once the answer is settled.
    Usual,
    /// The straggler is waited for, and the first synthesizer breaks off in the middle.
    Linger,
}

/// When to kill the program: while asking, and then while resuming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) panel: Panel,
    pub(crate) kills: Vec<Kill>,
}

impl Panel {
    pub(crate) const ALL: [Self; 2] = [Self::Usual, Self::Linger];
}

impl Plan {
    pub(crate) fn new(panel: Panel, kills: impl Into<Vec<Kill>>) -> Self {
        Self { panel, kills: kills.into() }
    }

    /// The plan with this number; `usual` is how long a run of each panel takes. Every second plan kills the resuming
    /// program, too.
    pub(crate) fn random(number: u32, usual: [Duration; 2]) -> Self {
        let which = (number % 2) as usize;
        let draw = |turn: usize| {
            let us = usual[which].as_micros() as f64
                * SHARES[turn]
                * fraction(u64::from(number) * 2 + turn as u64);
            Kill::After(Duration::from_micros(us as u64))
        };
        let turns = if (number / 2).is_multiple_of(2) { 1 } else { 2 };
        Self::new(Panel::ALL[which], (0..turns).map(draw).collect::<Vec<_>>())
    }
}

/// A number from 0 up to, but not including, 1: SplitMix64, because the numbers must be well spread, not secret.
fn fraction(number: u64) -> f64 {
    const STEPS: u64 = 1 << 53;
    let mut mixed = SEED.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) % STEPS) as f64 / STEPS as f64
}

impl fmt::Display for Panel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Usual => "usual",
            Self::Linger => "linger",
        })
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(number) => write!(out, "#{number}"),
            Self::After(time) => write!(out, "{}us", time.as_micros()),
            Self::Never => out.write_str("never"),
        }
    }
}

/// `linger #7 83412us`: the panel, then a kill for each start of the program.
impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.panel)?;
        self.kills.iter().try_for_each(|kill| write!(out, " {kill}"))
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let unread = |word: &str| format!("`{word}` is no part of a plan");
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let panel = Panel::ALL.into_iter().find(|panel| panel.to_string() == name);
        let kill = |word: &str| {
            let at = || word.strip_prefix('#')?.parse().ok().map(Kill::At);
            let after =
                || word.strip_suffix("us")?.parse().ok().map(|us| Kill::After(Duration::from_micros(us)));
            at().or_else(after).ok_or_else(|| unread(word))
        };
        Ok(Self {
            panel: panel.ok_or_else(|| unread(name))?,
            kills: words.map(kill).collect::<Result<_, _>>()?,
        })
    }
}

#[test]
fn a_printed_plan_reads_back() {
    let usual = [Duration::from_millis(300); 2];
    let random = (0..100).map(|number| Plan::random(number, usual));
    for plan in random.chain([Plan::new(Panel::Linger, [Kill::At(7), Kill::At(12)])]) {
        assert_eq!(plan.to_string().parse(), Ok(plan));
    }
    assert!("usual 12".parse::<Plan>().is_err());
}
