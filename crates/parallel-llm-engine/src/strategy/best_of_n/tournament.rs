//! Selection by pairs: a judge compares two answers at a time, each pair in both orders.
//!
//! In a knockout the loser is out; in a league each answer meets each other one. A match whose winner changes with the order,
//! or in which the judge finds neither better, is a tie. Between tied answers, that of the strongest seat wins, else the one
//! closer to all others. Answers that agree are not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::agreement::{Agreement, Cluster};
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::seed::SeededRandom;
use crate::prompt::Task;
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::run::outcome::{Judging, Outcome, Shortened};
use crate::strategy::parts::calls::call::Question;
use crate::strategy::parts::calls::chain;
use crate::strategy::parts::calls::judge::{self, Judgement};
use crate::strategy::parts::choice::answers::Answers;
use crate::strategy::parts::choice::best::best_first;
use crate::strategy::parts::choice::gate::gated;
use crate::strategy::parts::choice::verbatim::{lone, selected, strongest, tie_break, unfused};
use crate::text::shingles;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Argument, Next};
use crate::value::warning::Warning;

/// Points, doubled so that a tie is a whole number.
const WIN: usize = 2;
const TIE: usize = 1;

/// Which answers meet.
pub(super) enum Pairing {
    /// The loser of a match is out: one match fewer than answers, in rounds.
    Knockout,
    /// Each answer meets each other one, all at once.
    League,
}

/// Selects the answer that wins.
pub(super) async fn select(context: &Arc<RunContext>, pairing: Pairing, answers: Answers<'_>) -> Outcome {
    if let [only] = answers.usable {
        return lone(context, only, "judge");
    }
    if let Some(outcome) = gated(context, answers) {
        return outcome;
    }
    let mut tournament = Tournament::new(context, answers);
    let won = match pairing {
        Pairing::Knockout => tournament.knockout().await,
        Pairing::League => tournament.league().await,
    };
    won.map_or_else(Outcome::none, |won| tournament.outcome(&won))
}

/// The winner, and how it won.
struct Winner {
    seat: SeatNumber,
    how: String,
}

/// One comparison of two answers.
struct Match {
    pair: [SeatNumber; 2],
    /// Its number in the tournament, from 0, which determines its steps.
    number: u16,
    /// The preferred seat in each order with a judgement; `None` if the judge finds neither better.
    tops: Vec<Option<SeatNumber>>,
}

impl Match {
    /// The winner; `None` for a tie.
    fn winner(&self) -> Option<SeatNumber> {
        let top = *self.tops.first()?;
        top.filter(|_| !self.is_flipped())
    }

    /// Whether the order changed the judgement.
    fn is_flipped(&self) -> bool {
        self.tops.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// The state of a tournament.
struct Tournament<'a> {
    context: &'a Arc<RunContext>,
    usable: &'a [Usable],
    /// The answers by tie-break: that of the strongest seat first, then those closest to all others.
    closest: Vec<&'a Usable>,
    agreement: Option<&'a Agreement>,
    /// The hash of each text, to find equal ones.
    texts: BTreeMap<SeatNumber, blake3::Hash>,
    orders: u16,
    /// The judges to ask. A judge without a judgement in a whole round is not asked again.
    chain: Vec<Seat>,
    matches: u16,
    /// Matches that needed a judgement.
    wanted: usize,
    /// Those of them without one.
    unjudged: usize,
    /// Matches without a winner, for any reason.
    ties: usize,
    judging: Judging,
    shortened: Vec<Shortened>,
    suspected: BTreeSet<SeatNumber>,
    /// The calls without a judgement.
    failures: Vec<(ModelRef, Failure)>,
}

impl<'a> Tournament<'a> {
    fn new(context: &'a Arc<RunContext>, Answers { usable, agreement }: Answers<'a>) -> Self {
        Self {
            context,
            usable,
            closest: best_first(usable, &strongest(context)),
            agreement,
            texts: usable.iter().map(|one| (one.seat, shingles::exact(&one.answer.text))).collect(),
            orders: context.plan.strategy_options.orders(),
            chain: context.chain(),
            matches: 0,
            wanted: 0,
            unjudged: 0,
            ties: 0,
            judging: Judging::default(),
            shortened: Vec::new(),
            suspected: BTreeSet::new(),
            failures: Vec::new(),
        }
    }

    fn answer(&self, seat: SeatNumber) -> &'a Usable {
        self.usable.iter().find(|one| one.seat == seat).expect("only seats that answered are in a match")
    }

    /// The tie-break among these: the strongest seat, else the answer closest to all others.
    fn break_tie(&self, seats: &[SeatNumber]) -> SeatNumber {
        let among = self.closest.iter().find(|one| seats.contains(&one.seat));
        among.expect("those who meet have answered").seat
    }

    /// The seats in a random order.
    fn drawn(&self) -> Vec<SeatNumber> {
        let mut seats: Vec<SeatNumber> = self.usable.iter().map(|one| one.seat).collect();
        SeededRandom::new(&self.context.plan, "the draw of a tournament").shuffle(&mut seats);
        seats
    }

    async fn knockout(&mut self) -> Result<Winner, Failure> {
        let mut field = self.drawn();
        while field.len() > 1 {
            // A seat without an opponent advances, and to the front, so that the next one without is another.
            let without = if field.len() % 2 == 1 { field.pop() } else { None };
            let pairs = field.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
            let played = self.play(pairs).await?;
            let won = played.iter().map(|one| one.winner().unwrap_or_else(|| self.break_tie(&one.pair)));
            field = without.into_iter().chain(won).collect();
        }
        let of = self.usable.len();
        let is_marked = !strongest(self.context).is_empty();
        let whom = if is_marked { "the strongest seat, else to " } else { "" };
        let level = match self.ties {
            0 => String::new(),
            1 => format!("; one match was a tie and went to {whom}the answer closer to all the others"),
            ties => {
                format!("; {ties} matches were ties and went to {whom}the answers closer to all the others")
            }
        };
        Ok(Winner { seat: field[0], how: format!("it won the knockout of {of} answers{level}") })
    }

    async fn league(&mut self) -> Result<Winner, Failure> {
        let drawn = self.drawn();
        let mut pairs = Vec::new();
        for (one, first) in drawn.iter().enumerate() {
            for (other, second) in drawn.iter().enumerate().skip(one + 1) {
                // Each answer is shown first in about half of its matches.
                pairs.push(if (one + other) % 2 == 1 { [*first, *second] } else { [*second, *first] });
            }
        }
        let played = self.play(pairs).await?;
        let of_seat = |seat| {
            let own = played.iter().filter(|one| one.pair.contains(&seat));
            own.map(|one| one.winner().map_or(TIE, |winner| if winner == seat { WIN } else { 0 })).sum()
        };
        let points: Vec<(SeatNumber, usize)> = drawn.iter().map(|seat| (*seat, of_seat(*seat))).collect();
        let most = points.iter().map(|(_, points)| *points).max().unwrap_or(0);
        let leading: Vec<SeatNumber> =
            points.iter().filter(|(_, points)| *points == most).map(|(seat, _)| *seat).collect();
        let (had, of) = (most as f64 / WIN as f64, drawn.len() - 1);
        let won = self.break_tie(&leading);
        let closest = tie_break(self.context, self.answer(won), "closest to all the others");
        let how = match leading.len() {
            1 => format!("it has the most points of the league, {had} of {of}"),
            several => format!(
                "of the {several} answers that have the most points of the league, {had} of {of}, it is {closest}"
            ),
        };
        Ok(Winner { seat: won, how })
    }

    /// Plays these matches at once. A match without a judgement goes to the next judge of the chain; after the last one it is
    /// a tie. An error means that the run was cancelled.
    async fn play(&mut self, pairs: Vec<[SeatNumber; 2]>) -> Result<Vec<Match>, Failure> {
        let first = self.matches;
        let matches = pairs.into_iter().zip(first..);
        let mut matches: Vec<Match> =
            matches.map(|(pair, number)| Match { pair, number, tops: Vec::new() }).collect();
        self.matches += u16::try_from(matches.len()).unwrap_or(u16::MAX);
        let mut open: Vec<&mut Match> = matches.iter_mut().filter(|one| !self.is_same(one.pair)).collect();
        self.wanted += open.len();
        for judge in self.chain.clone() {
            if open.is_empty() {
                break;
            }
            self.judged(&judge, &mut open).await?;
            let count = open.len();
            open.retain(|one| one.tops.is_empty());
            if open.len() == count {
                self.chain.retain(|other| other.number != judge.number);
            }
        }
        self.unjudged += open.len();
        self.judging.flips += matches.iter().filter(|one| one.is_flipped()).count();
        self.ties += matches.iter().filter(|one| one.winner().is_none()).count();
        Ok(matches)
    }

    /// Asks one judge about these matches.
    async fn judged(&mut self, judge: &Seat, open: &mut [&mut Match]) -> Result<(), Failure> {
        let mut calls = Vec::new();
        let mut whose = Vec::new();
        for (index, one) in open.iter().enumerate() {
            let pair = one.pair.map(|seat| self.answer(seat).clone());
            let question = Question { number: one.number, count: self.matches, orders: self.orders };
            for call in judge::calls(self.context, judge, question, Task::Match, &pair) {
                calls.push(call);
                whose.push(index);
            }
        }
        judge::shorten(&mut self.shortened, &calls);
        let judgements = judge::ask(self.context, &calls).await;
        for (judgement, index) in judgements.into_iter().zip(whose) {
            match judgement {
                Ok(judgement) => self.take(judgement, open[index]),
                Err(failure) if failure.code == Code::Cancelled => return Err(failure),
                Err(failure) => self.failures.push((judge.model.clone(), failure)),
            }
        }
        Ok(())
    }

    fn take(&mut self, Judgement { mut verdict, suspected, .. }: Judgement, of: &mut Match) {
        // Of two answers, the name of one is enough for a ranking. A tie has none.
        let top = verdict.ranking.first().copied();
        of.tops.push(top);
        let others = of.pair.into_iter().filter(|seat| top.is_some_and(|top| top != *seat));
        verdict.ranking = top.into_iter().chain(others).collect();
        self.judging.verdicts.push(verdict);
        self.suspected.extend(suspected);
    }

    /// Whether these two agree, so that neither is better.
    fn is_same(&self, pair: [SeatNumber; 2]) -> bool {
        let clusters = self.agreement.map_or(&[][..], |agreement| &agreement.clusters);
        let have_both = |cluster: &Cluster| pair.iter().all(|seat| cluster.seats.contains(seat));
        let [one, other] = pair.map(|seat| self.texts.get(&seat));
        one == other || clusters.iter().any(have_both)
    }

    fn outcome(mut self, won: &Winner) -> Outcome {
        let warnings = self.warnings();
        let judging = std::mem::take(&mut self.judging);
        let judging = (!judging.verdicts.is_empty()).then_some(judging);
        let outcome = match &judging {
            Some(judging) => {
                let mut judges: Vec<String> =
                    judging.verdicts.iter().map(|verdict| format!("`{}`", verdict.by)).collect();
                judges.sort();
                judges.dedup();
                let reason = format!("judged by {}, {}", judges.join(" and "), won.how);
                selected(self.context, self.answer(won.seat), reason)
            }
            None if self.wanted == 0 => {
                selected(self.context, self.closest[0], "no two answers differ, so nothing was judged")
            }
            None => {
                let last = self.failures.last().map(|(_, failure)| (failure.code, failure.next.as_slice()));
                unfused(self.context, self.usable, chain::chain_failure("judge", last))
            }
        };
        let mut outcome = Outcome { judging, shortened: self.shortened, warnings, ..outcome };
        let suspected: Vec<SeatNumber> = self.suspected.iter().copied().collect();
        chain::suspect(self.context, &mut outcome, "judge", &suspected);
        outcome
    }

    /// One warning for each judge that failed, and one for undecided matches.
    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut named: Vec<&ModelRef> = Vec::new();
        for (judge, failure) in &self.failures {
            if !named.contains(&judge) {
                let count = self.failures.iter().filter(|(other, _)| other == judge).count();
                let calls = if count == 1 { "one call".to_owned() } else { format!("{count} calls") };
                let what = format_args!("the judge `{judge}` gave no verdict in {calls}");
                warnings.push(Warning::of(what, failure));
                named.push(judge);
            }
        }
        // If no match had a judgement, the outcome itself says so.
        if let (1.., Some((_, last)), false) =
            (self.unjudged, self.failures.last(), self.judging.verdicts.is_empty())
        {
            let (unjudged, wanted) = (self.unjudged, self.wanted);
            warnings.push(Warning {
                code: last.code,
                message: format!("{unjudged} of {wanted} matches had no verdict and count as ties"),
                next: Next::Give(Argument::Synthesizer).into(),
            });
        }
        warnings
    }
}
