//! The first line below an answer: how many models agree, who objects to what, and whose answer it is.

use parallel_llm_engine::request::strategy::{By, Strategy};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::text::safe::{self, excerpt};
use parallel_llm_engine::{Code, Outcome, OutcomeKind};
use parallel_llm_service::report::{
    Agreed, AgreementReport, ClusterReport, Objection, Point, Report, Sides, TextRoom,
};

use super::agreement::name;
use super::missing::and;
use crate::called;

/// The most seats that are named of those who say the same.
const NAMES_MAX: usize = 4;
/// The most groups of objecting seats that are named.
const GROUPS_MAX: usize = 3;
/// The most objections that are quoted.
const OBJECTIONS_MAX: usize = 2;
/// The longest values and objections shown.
const ROOM: TextRoom = TextRoom { value_chars_max: 40, text_chars_max: 140 };

/// The verdict on the outcome of a run, in one or two sentences.
pub fn verdict(run: &Run, report: &Report) -> String {
    let Some(outcome) = run.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::None) else {
        return sentence(&without_answer(run));
    };
    let origin = sentence(&origin(run, report, outcome));
    match agreement(report).filter(|_| !is_counted(run, outcome)) {
        Some(agreement) => format!("{} {origin}", sentence(&agreement)),
        None => origin,
    }
}

/// Text as a sentence, safe for a terminal.
pub fn sentence(text: &str) -> String {
    let text = safe::for_terminal(text);
    let mut characters = text.trim_end_matches('.').chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    let end = if text.ends_with(['!', '?', '…']) { "" } else { "." };
    format!("{}{end}", first.chain(characters).collect::<String>())
}

/// Why there is no answer. The seats give their own reasons below.
fn without_answer(run: &Run) -> String {
    let Some(failure) = run.failure() else { return "no answer yet".to_owned() };
    let is_explained_below = run.answered() == 0 && run.missing().next().is_some();
    match failure.code {
        Code::Cancelled | Code::Interrupted => format!("no answer: {}", failure.message),
        _ if is_explained_below => "no model answered".to_owned(),
        _ => format!("no answer: {}", failure.message),
    }
}

/// Whether the reason of the choice itself says how many agree.
fn is_counted(run: &Run, outcome: &Outcome) -> bool {
    match outcome.kind {
        OutcomeKind::Selected => {
            outcome.judging.is_none() && outcome.checks.is_empty() && run.plan.strategy != Strategy::Race
        }
        OutcomeKind::Verbatim => outcome.unfused.as_ref().is_some_and(|why| why.code == Code::NoMajority),
        OutcomeKind::Fused | OutcomeKind::Listed | OutcomeKind::None => false,
    }
}

/// Whose answer it is, and who chose it.
fn origin(run: &Run, report: &Report, outcome: &Outcome) -> String {
    let reason = &outcome.reason;
    let author = || {
        let by = || outcome.by.as_ref().map(ToString::to_string);
        let author = outcome.base_seat.map(|seat| name(report, seat.0)).or_else(by).unwrap_or_default();
        let newest = if outcome.base_step.is_some() { "newest answer" } else { "answer" };
        format!("{newest} by {author}")
    };
    match outcome.kind {
        OutcomeKind::Fused => fused(report, outcome),
        OutcomeKind::Selected | OutcomeKind::Verbatim if is_counted(run, outcome) => {
            let groups = report.agreement.as_ref();
            let own = groups.zip(outcome.base_seat).map(|(groups, seat)| groups.group_of(seat.0));
            let own = own.unwrap_or_default();
            let is_vote = run.plan.strategy == Strategy::Vote && own.len() > 1;
            let how = if is_vote { ", chosen by vote" } else { "" };
            let others = groups.map(|groups| others(report, groups, own));
            let others = others.filter(|others| !others.is_empty()).map(|others| format!("; {others}"));
            format!("{}{how}: {reason}{}", author(), others.unwrap_or_default())
        }
        OutcomeKind::Selected if !outcome.checks.is_empty() => {
            format!("{}, chosen by your check: {reason}", author())
        }
        OutcomeKind::Selected | OutcomeKind::Verbatim => match only_judge(run, outcome) {
            Some(judge) => format!("{}, chosen by {judge}", author()),
            None => format!("{}: {reason}", author()),
        },
        OutcomeKind::Listed | OutcomeKind::None => reason.clone(),
    }
}

/// The judge that chose the answer without changing its mind; `None` if there is more to say.
fn only_judge(run: &Run, outcome: &Outcome) -> Option<String> {
    // Of pairs the reason says more: how many were won, and how many were ties.
    let is_of_pairs = matches!(run.plan.strategy_options.by, Some(By::Pairs | By::League));
    let judges = run.plan.strategy == Strategy::BestOfN && !is_of_pairs;
    let judging = outcome.judging.as_ref().filter(|judging| judges && judging.flips == 0)?;
    (outcome.kind == OutcomeKind::Selected)
        .then(|| judging.verdicts.first().map(|verdict| verdict.by.to_string()))?
}

fn fused(report: &Report, outcome: &Outcome) -> String {
    let by = outcome.by.as_ref().map(|model| format!(" by {model}")).unwrap_or_default();
    let without = outcome.leave_one_out.as_ref().and_then(|described| described.stands_without);
    let shown = outcome.considered.len().saturating_sub(outcome.unshown.len());
    let from = shown.saturating_sub(usize::from(without.is_some()));
    let of =
        if outcome.unshown.is_empty() { String::new() } else { format!(" of {}", outcome.considered.len()) };
    let without = without.map(|seat| format!(", without {}", name(report, seat.0))).unwrap_or_default();
    let newest = if outcome.base_step.is_some() { "the newest answer of " } else { "" };
    let base = outcome.base_seat.map(|seat| format!(", starting from {newest}{}", name(report, seat.0)));
    let ratio = outcome.worth.as_ref().and_then(|worth| worth.edit_ratio);
    let changed = ratio.map(|ratio| format!(" ({:.0} % changed)", ratio * 100.0)).unwrap_or_default();
    format!("fused{by} from {from}{of} answers{without}{}{changed}", base.unwrap_or_default())
}

/// How many agree, and who objects to what; `None` if nobody compared the answers.
fn agreement(report: &Report) -> Option<String> {
    let sides = Sides::of(report)?;
    let (who, agreement) = (sides.noun(), sides.agreement);
    let (equal, of) = (agreement.equal, agreement.of);
    let largest = agreement.clusters.first().map_or(&[][..], |largest| &largest.seats);
    Some(match sides.agreed() {
        Agreed::Unread => format!("whether the {of} {who} agree is unknown: none states its result plainly"),
        Agreed::Open => {
            let by = &agreement.analysis.as_ref()?.read_by;
            objections(report, &sides)
                .unwrap_or_else(|| format!("according to {by}, no model contradicts another"))
        }
        Agreed::Words => {
            let all = match (equal == of, of) {
                (true, 2) => "both".to_owned(),
                (true, _) => format!("all {of}"),
                (false, _) => format!("{equal} of {of}"),
            };
            let same = if who == "answers" { "are the same" } else { "give the same answer" };
            let objections = objections(report, &sides).map(|text| format!("; {text}")).unwrap_or_default();
            format!("{all} {who} {same}, word for word{objections}")
        }
        Agreed::Value(value) if equal == of => {
            let all = if of == 2 { "both".to_owned() } else { format!("all {of}") };
            format!("{all} {who} agree on {}", ROOM.quoted(value))
        }
        Agreed::Value(value) => match (agreement.clusters.as_slice(), agreement.unread.as_slice()) {
            ([_, ClusterReport { value: Some(other), seats, .. }], []) if seats.len() == 1 => {
                let (objector, other) = (names(report, seats), ROOM.quoted(other));
                let value = ROOM.quoted(value);
                format!(
                    "{equal} of {of} {who} agree; {objector} objects: it says {other}, the others {value}"
                )
            }
            _ => {
                let others = others(report, agreement, largest);
                format!("{equal} of {of} {who} agree on {}; {others}", ROOM.quoted(value))
            }
        },
        Agreed::AllDiffer => format!("no two of {of} {who} agree: {}", others(report, agreement, &[])),
    })
}

/// What the seats beside these say.
fn others(report: &Report, agreement: &AgreementReport, own: &[u8]) -> String {
    let others: Vec<&ClusterReport> = agreement.beside(own).filter(|one| one.value.is_some()).collect();
    let say = |one: &&ClusterReport| {
        let value = ROOM.quoted(one.value.as_deref().unwrap_or_default());
        let say = if one.seats.len() == 1 { "says" } else { "say" };
        format!("{} {say} {value}", names(report, &one.seats))
    };
    let mut clauses: Vec<String> = others.iter().take(GROUPS_MAX).map(say).collect();
    let rest: usize = others.iter().skip(GROUPS_MAX).map(|one| one.seats.len()).sum();
    clauses.extend((rest > 0).then(|| format!("{rest} more say something else")));
    if !agreement.unread.is_empty() {
        let give = if agreement.unread.len() == 1 { "gives" } else { "give" };
        clauses.push(format!("{} {give} no plain answer", names(report, &agreement.unread)));
    }
    clauses.join(", ")
}

/// The objections that a model found which read all answers; seats with the same objection are named together.
fn objections(report: &Report, sides: &Sides<'_>) -> Option<String> {
    let denied = |Objection { seat, point }| match point {
        Point::Denies(claim) => Some((seat, claim)),
        Point::Value(_) | Point::Other => None,
    };
    let found: Vec<(u8, &str)> = sides.objections().into_iter().filter_map(denied).collect();
    let groups: Vec<_> = found.chunk_by(|one, next| one.1 == next.1).collect();
    let say = |group: &&[(u8, &str)]| {
        let seats: Vec<u8> = group.iter().map(|(seat, _)| *seat).collect();
        let s = if seats.len() == 1 { "s" } else { "" };
        let claim = excerpt(group[0].1, ROOM.text_chars_max);
        format!("{} dispute{s}: {}", names(report, &seats), claim.trim_end_matches('.'))
    };
    let mut clauses: Vec<String> = groups.iter().take(OBJECTIONS_MAX).map(say).collect();
    let more = groups.len().saturating_sub(OBJECTIONS_MAX);
    clauses.extend((more > 0).then(|| {
        format!(
            "{more} more in {}`",
            called::of_demo("`runs show --agreement", "`runs show @ --demo --agreement")
        )
    }));
    let by = &sides.agreement.analysis.as_ref()?.read_by;
    (!clauses.is_empty()).then(|| format!("according to {by}, {}", clauses.join("; ")))
}

/// Seats with their models; the rest is counted.
fn names(report: &Report, seats: &[u8]) -> String {
    let mut names: Vec<String> = seats.iter().take(NAMES_MAX).map(|seat| name(report, *seat)).collect();
    let more = seats.len().saturating_sub(NAMES_MAX);
    names.extend((more > 0).then(|| format!("{more} more")));
    and(&names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_and_ends_as_one() {
        let texts = ["3 agree", "it is so.", "is it?", "größer\u{1b}[2J", ""];
        assert_eq!(texts.map(sentence), ["3 agree.", "It is so.", "Is it?", "Größer[2J.", "."]);
    }
}
