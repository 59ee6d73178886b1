//! Puts the seats that texts came from in place of the numbers they had in a stage, so that every reader of an outcome
//! finds seats in it.

use std::collections::BTreeSet;
use std::mem::take;
use std::sync::Arc;

use crate::plan::flow::{StageNumber, stage_of_stand_in};
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Outcome, OutcomeKind, Reading, Shortened, Suspicion, Worth};

/// The outcome of a stage that read these texts, in seats.
pub(super) fn in_seats(mut outcome: Outcome, texts: &[(StageNumber, Arc<Outcome>)]) -> Outcome {
    if texts.is_empty() {
        return outcome;
    }
    let seats = Seats { texts };
    // Without `..`, so that every new field forces a decision.
    let Outcome {
        kind,
        text: _,
        text_hash: _,
        by: _,
        base_seat,
        base_step,
        base_stage,
        considered,
        unshown,
        agreement,
        judging,
        checks,
        rounds: _,
        reading,
        leave_one_out: _,
        suspected,
        same_vendor: _,
        reason: _,
        shortened,
        worth,
        warnings: _,
        failure: _,
        unfused: _,
    } = &mut outcome;
    if let Some((number, base)) = base_seat.and_then(|base| seats.read(base)) {
        *base_stage = Some(number);
        // A text that is taken over word for word was given by whatever gave it to its stage.
        *base_step = base.base_step.filter(|_| *kind != OutcomeKind::Fused);
    }
    *base_seat = base_seat.and_then(|base| seats.of(base));
    let all = considered.iter().flat_map(|one| seats.considered(*one));
    *considered = all.collect::<BTreeSet<_>>().into_iter().collect();
    *unshown = seats.all(unshown);
    // Texts agree or not, which says nothing about seats. The run compares the answers of all seats itself.
    *agreement = None;
    for verdict in judging.iter_mut().flat_map(|judging| &mut judging.verdicts) {
        verdict.ranking = seats.all(&verdict.ranking);
    }
    checks.retain_mut(|check| seats.of(check.seat).map(|seat| check.seat = seat).is_some());
    *reading = reading.take().and_then(|reading| seats.reading(reading));
    *shortened = seats.shortened(take(shortened));
    *worth = worth.as_ref().and_then(|worth| seats.worth(worth));
    for Suspicion { seat, signs } in take(suspected) {
        for (seat, sign) in
            seats.of(seat).into_iter().flat_map(|seat| signs.iter().map(move |sign| (seat, *sign)))
        {
            outcome.suspect(seat, sign);
        }
    }
    outcome
}

/// The seats that the texts of a stage came from.
struct Seats<'a> {
    texts: &'a [(StageNumber, Arc<Outcome>)],
}

impl Seats<'_> {
    /// The text with this number; `None` for a seat.
    fn read(&self, number: SeatNumber) -> Option<(StageNumber, &Outcome)> {
        let stage = stage_of_stand_in(number)?;
        self.texts.iter().find(|(read, _)| *read == stage).map(|(read, text)| (*read, &**text))
    }

    /// The seat an answer came from: for a text the one it is based on, else the first it considered.
    fn of(&self, number: SeatNumber) -> Option<SeatNumber> {
        match self.read(number) {
            Some((_, text)) => text.base_seat.or_else(|| text.considered.first().copied()),
            None => Some(number).filter(|number| stage_of_stand_in(*number).is_none()),
        }
    }

    /// The seats of these answers, each once.
    fn all(&self, numbers: &[SeatNumber]) -> Vec<SeatNumber> {
        let mut seats = Vec::new();
        for seat in numbers.iter().filter_map(|number| self.of(*number)) {
            if !seats.contains(&seat) {
                seats.push(seat);
            }
        }
        seats
    }

    /// Every seat whose answer went into this one.
    fn considered(&self, number: SeatNumber) -> Vec<SeatNumber> {
        match self.read(number) {
            Some((_, text)) => text.considered.clone(),
            None => self.of(number).into_iter().collect(),
        }
    }

    /// Of two texts of one seat, what was shown least of.
    fn shortened(&self, shortened: Vec<Shortened>) -> Vec<Shortened> {
        let mut known: Vec<Shortened> = Vec::new();
        for cut in shortened {
            let Some(seat) = self.of(cut.seat) else { continue };
            match known.iter_mut().find(|known| known.seat == seat) {
                Some(known) if known.to_chars <= cut.to_chars => {}
                Some(known) => *known = Shortened { seat, ..cut },
                None => known.push(Shortened { seat, ..cut }),
            }
        }
        known
    }

    /// `None` if two texts come from one seat: then its comparison would be read wrongly.
    fn reading(&self, reading: Reading) -> Option<Reading> {
        let shown: Vec<SeatNumber> =
            reading.shown.iter().map(|number| self.of(*number)).collect::<Option<_>>()?;
        let is_one_to_one = shown.iter().collect::<BTreeSet<_>>().len() == shown.len();
        is_one_to_one.then_some(Reading { shown, ..reading })
    }

    fn worth(&self, worth: &Worth) -> Option<Worth> {
        let base_seat = self.of(worth.base_seat)?;
        let mut drawn_from = self.all(&worth.drawn_from);
        drawn_from.retain(|seat| *seat != base_seat);
        Some(Worth { base_seat, drawn_from, ..worth.clone() })
    }
}
