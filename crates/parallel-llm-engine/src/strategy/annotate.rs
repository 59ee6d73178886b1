//! Annotates every outcome: suspected injections, unknown links, hidden characters, and vendors shared with readers.
//!
//! Nothing is removed except what is hidden in answers that are handed on, and links in paranoid mode. The engine calls it
//! after the strategy, so no strategy can forget it.

use std::collections::BTreeSet;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::panel::{ModelRef, SeatNumber};
use crate::request::{Message, Role, StoreMode};
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::text::injection::{self, Expected};
use crate::text::{links, unrendered};
use crate::value::code::Code;
use crate::value::invisible;
use crate::value::next::{Advice, Next};
use crate::value::warning::Warning;

/// The most hosts a warning names; the text has all of them.
const HOSTS_MAX: usize = 8;

/// Adds the warnings about these answers and the text to an outcome.
pub(crate) fn annotated(context: &RunContext, usable: &[Usable], mut outcome: Outcome) -> Outcome {
    let asked = context.plan.messages.iter().filter(|message| message.role != Role::Assistant);
    let expected = Expected::by_any(asked.flat_map(Message::texts));
    take_hidden_out(context, &mut outcome);
    for one in usable {
        let signs = injection::unexpected_signs(&one.answer.text, expected);
        let about: Vec<&str> = signs.iter().map(|sign| sign.about()).collect();
        if !about.is_empty() {
            outcome.warnings.push(Warning {
                code: Code::SuspectedInjection,
                message: format!("the answer of seat {} holds {}", one.seat, about.join(", ")),
                next: Code::SuspectedInjection.next().to_owned(),
            });
        }
        for sign in signs {
            outcome.suspect(one.seat, sign);
        }
    }
    let unsaid = context.equivalents.lock().failure.take();
    outcome.warnings.extend(unsaid.map(|why| {
        Warning::of("short answers that are written differently were counted as different", &why)
    }));
    flag_payload(expected, &mut outcome);
    flag_links(context, usable, &mut outcome);
    flag_hidden(&mut outcome);
    outcome.same_vendor = same_vendor(context, usable, &outcome);
    outcome
}

/// The seats whose models are of the same vendor as a judge or the writer.
fn same_vendor(context: &RunContext, usable: &[Usable], outcome: &Outcome) -> Vec<SeatNumber> {
    let judges = outcome.judging.iter().flat_map(|judging| &judging.verdicts).map(|verdict| &verdict.by);
    let writer = outcome.by.as_ref().filter(|_| outcome.kind == OutcomeKind::Fused);
    let readers: Vec<&ModelRef> = judges.chain(writer).collect();
    let model = |seat: SeatNumber| &context.plan.seats[seat.index()].model;
    let seats = usable.iter().map(|one| one.seat);
    seats.filter(|seat| readers.iter().any(|reader| reader.has_vendor_of(model(*seat)))).collect()
}

/// Takes out of a text of the panel what no person sees: characters, as they are taken out of what a reader is shown, and in a
/// picked answer what is not rendered, unless markup was asked for. The stored answers keep it. A fused text was written by a
/// model that was shown no such characters, and where one model was asked nothing was picked: its text is what was asked for,
/// byte for byte.
fn take_hidden_out(context: &RunContext, outcome: &mut Outcome) {
    if outcome.kind == OutcomeKind::Fused || context.plan.seats.len() < 2 {
        return;
    }
    let Some(text) = outcome.text.as_deref() else { return };
    let (seen, characters) = invisible::handed_on(text);
    let mut asked = context.plan.messages.iter().flat_map(Message::texts);
    let is_whole = outcome.kind == OutcomeKind::Listed || asked.any(unrendered::asks_for_markup);
    let (shown, parts) = if is_whole { (seen, 0) } else { unrendered::without(&seen) };
    if characters + parts == 0 {
        return;
    }
    let shown = shown.into();
    outcome.set_text(shown);
    let counted = [
        (characters, "invisible character was", "invisible characters were"),
        (parts, "part that is not rendered was", "parts that are not rendered were"),
    ];
    for (count, one, several) in counted.into_iter().filter(|(count, ..)| *count > 0) {
        let message = format!("{count} {} taken out of the text", if count == 1 { one } else { several });
        let next = vec![Next::Do(Advice::ReadThatAnswer)];
        outcome.warnings.push(Warning::new(Code::HiddenText, message).with_next(next));
    }
}

/// Warns of instructions and hidden parts in a text that is handed on word for word: what a strategy selects nobody has
/// rewritten.
fn flag_payload(expected: Expected, outcome: &mut Outcome) {
    if !matches!(outcome.kind, OutcomeKind::Selected | OutcomeKind::Verbatim) {
        return;
    }
    let signs = outcome.text.as_deref().map(|text| injection::unexpected_signs(text, expected));
    let signs = signs.unwrap_or_default();
    let about: Vec<&str> = signs.iter().map(|sign| sign.about()).collect();
    if !about.is_empty() {
        outcome.warnings.push(Warning {
            code: Code::SuspectedInjection,
            message: format!("the text is handed on word for word and holds {}", about.join(", ")),
            next: Code::SuspectedInjection.next().to_owned(),
        });
    }
}

/// Warns of invisible characters in the text, which a program or model would read.
fn flag_hidden(outcome: &mut Outcome) {
    let count = outcome.text.as_deref().map_or(0, invisible::hidden);
    if count > 0 {
        let characters = if count == 1 { "character" } else { "characters" };
        outcome.warnings.push(Warning {
            code: Code::HiddenText,
            message: format!("the text contains {count} invisible {characters}"),
            next: Code::HiddenText.next().to_owned(),
        });
    }
}

fn flag_links(context: &RunContext, usable: &[Usable], outcome: &mut Outcome) {
    let Some(text) = outcome.text.clone() else { return };
    let linked = links::links(&text).into_iter().map(|link| link.host);
    let mut linked: BTreeSet<String> = linked.filter(|host| !links::is_reserved(host)).collect();
    if linked.is_empty() {
        return;
    }
    for asked in context.plan.messages.iter().flat_map(Message::texts) {
        let known = links::mentioned(asked, &linked);
        linked.retain(|host| !known.contains(host));
    }
    if linked.is_empty() {
        return;
    }
    let named = |one: &Usable| (one.seat, links::mentioned(&one.answer.text, &linked));
    let named: Vec<(SeatNumber, BTreeSet<String>)> = usable.iter().map(named).collect();
    let (mut strange, mut suspect, mut alone) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for host in linked {
        let mut by = named.iter().filter(|(_, hosts)| hosts.contains(&host)).map(|(seat, _)| *seat);
        match (by.next(), by.next()) {
            (None, _) => drop(strange.insert(host)),
            (Some(only), None) if outcome.suspected.iter().any(|one| one.seat == only) => {
                suspect.insert(host);
            }
            // In a list of all answers, each link is below the name of its author anyway.
            (Some(_), None) if usable.len() > 1 && outcome.kind != OutcomeKind::Listed => {
                alone.insert(host);
            }
            _ => {}
        }
    }
    let flagged: BTreeSet<String> = strange.union(&suspect).cloned().collect();
    // A selected answer is returned word for word, so only a fused text is changed.
    let is_defused = context.plan.strategy_options.is_paranoid() && outcome.kind == OutcomeKind::Fused;
    if is_defused {
        outcome.set_text(links::defused(&text, &flagged).into());
    }
    let end = if is_defused { "; that link was taken out" } else { "" };
    let whys = [
        (strange, "no answer has and the question has not", end),
        (suspect, "only an answer has that may have tried to instruct its reader", end),
        (alone, "only one answer has and the question has not", ""),
    ];
    for (hosts, why, end) in whys.into_iter().filter(|(hosts, ..)| !hosts.is_empty()) {
        let hosts = host_list(context, &hosts);
        outcome.warnings.push(Warning {
            code: Code::LinkUnknown,
            message: format!("the text links to {hosts}, which {why}{end}"),
            next: Code::LinkUnknown.next().to_owned(),
        });
    }
}

/// The names of hosts for a warning, never the rest of a link, which may carry parts of the question. If texts are not kept,
/// only their number.
fn host_list(context: &RunContext, hosts: &BTreeSet<String>) -> String {
    let count = hosts.len();
    if context.plan.store == StoreMode::Metadata {
        return format!("{count} {}", if count == 1 { "host" } else { "hosts" });
    }
    let mut names: Vec<String> =
        hosts.iter().take(HOSTS_MAX).map(|host| format!("`{}`", links::displayed(host))).collect();
    names.extend((count > HOSTS_MAX).then(|| format!("{} more", count - HOSTS_MAX)));
    names.join(", ")
}
