//! Who agrees, and who objects to what: read from a report once, for every door.

use parallel_llm_engine::text::safe::excerpt;

use super::{AgreementReport, ClaimReport, ClusterReport, Report};

/// The two sides of a panel.
#[derive(Clone, Copy)]
pub struct Sides<'r> {
    report: &'r Report,
    /// How far the answers agree.
    pub agreement: &'r AgreementReport,
}

/// How many of the compared answers say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed<'r> {
    /// Answers to an open question, which are not counted.
    Open,
    /// None states its result plainly.
    Unread,
    /// No two are equal.
    AllDiffer,
    /// The largest group comes to this value.
    Value(&'r str),
    /// The largest group is equal letter by letter.
    Words,
}

/// A seat that does not say what the final text or the most answers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objection<'r> {
    /// The seat.
    pub seat: u8,
    /// What it says.
    pub point: Point<'r>,
}

/// What an objecting seat says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point<'r> {
    /// That this claim of the final text is wrong.
    Denies(&'r str),
    /// Another value.
    Value(&'r str),
    /// Other words, which nobody compared.
    Other,
}

impl<'r> Sides<'r> {
    /// The sides of a run's panel; `None` for fewer than two answers.
    pub fn of(report: &'r Report) -> Option<Self> {
        let agreement = report.agreement.as_ref().filter(|agreement| agreement.of > 1)?;
        Some(Self { report, agreement })
    }

    /// How many answers say the same.
    pub fn agreed(&self) -> Agreed<'r> {
        let AgreementReport { clusters, unread, equal, .. } = self.agreement;
        match clusters.first() {
            None if unread.is_empty() => Agreed::Open,
            None => Agreed::Unread,
            Some(_) if *equal < 2 => Agreed::AllDiffer,
            Some(ClusterReport { value: Some(value), .. }) => Agreed::Value(value),
            Some(ClusterReport { value: None, .. }) => Agreed::Words,
        }
    }

    /// What is counted: `models`, or `answers` if a model gave several of them.
    pub fn noun(&self) -> &'static str {
        let considered = self.considered();
        let seats = self.report.answers.iter().filter(|seat| considered.contains(&seat.seat));
        let mut models: Vec<&str> = seats.map(|seat| seat.model.as_str()).collect();
        models.sort_unstable();
        if models.windows(2).any(|two| two[0] == two[1]) { "answers" } else { "models" }
    }

    /// The seats that say the same: the largest group of equal answers. Of an open question, the seats that make a claim
    /// which another makes too, and that do not object.
    pub fn agreeing(&self) -> Vec<u8> {
        if let Some(largest) = self.agreement.clusters.first() {
            return if self.agreement.equal > 1 { largest.seats.clone() } else { Vec::new() };
        }
        let Some(analysis) = &self.agreement.analysis else { return Vec::new() };
        let shares = |seat: &u8| {
            let mut shared = analysis.claims.iter().filter(|claim| claim.r#for.len() > 1);
            shared.any(|claim| claim.r#for.contains(seat))
        };
        let objections = self.objections();
        let objects = |seat: &u8| objections.iter().any(|objection| objection.seat == *seat);
        let considered = self.considered().iter().copied();
        considered.filter(|seat| shares(seat) && !objects(seat)).collect()
    }

    /// The seats that object, each with its first objection: a contradicted claim, or another value.
    pub fn objections(&self) -> Vec<Objection<'r>> {
        let mut objections: Vec<Objection<'r>> = Vec::new();
        if let Some(analysis) = &self.agreement.analysis {
            let denies = |claim: &'r ClaimReport| {
                let objection = |seat: &u8| Objection { seat: *seat, point: Point::Denies(&claim.text) };
                claim.against.iter().map(objection)
            };
            objections.extend(analysis.contradicted().flat_map(denies));
        }
        let largest = self.agreement.clusters.first().filter(|_| self.agreement.equal > 1);
        for other in largest.into_iter().flat_map(|largest| self.agreement.beside(&largest.seats)) {
            let point = other.value.as_deref().map_or(Point::Other, Point::Value);
            objections.extend(other.seats.iter().map(|seat| Objection { seat: *seat, point }));
        }
        let mut named = Vec::new();
        objections.retain(|Objection { seat, .. }| {
            let is_first = !named.contains(seat) && self.report.answers.iter().any(|one| one.seat == *seat);
            named.push(*seat);
            is_first
        });
        objections
    }

    /// The value that the fused text comes to, if no answer does.
    pub fn new_value(&self) -> Option<&'r str> {
        self.agreement.novel.as_ref()?.value.as_deref()
    }

    fn considered(&self) -> &'r [u8] {
        self.report.synthesis.as_ref().map_or(&[], |synthesis| &synthesis.considered)
    }
}

impl AgreementReport {
    /// The seats that say the same as this one, itself included; empty if nothing is known of it.
    pub fn group_of(&self, seat: u8) -> &[u8] {
        let mut groups = self.clusters.iter().map(|cluster| cluster.seats.as_slice());
        groups.find(|seats| seats.contains(&seat)).unwrap_or_default()
    }

    /// The groups of equal answers without the group of these seats.
    pub fn beside(&self, own: &[u8]) -> impl Iterator<Item = &ClusterReport> {
        self.clusters.iter().filter(move |cluster| cluster.seats.as_slice() != own)
    }
}

impl Point<'_> {
    /// The point as text of its own, within a door's room for it.
    pub fn described(&self, room: TextRoom) -> String {
        match self {
            Self::Denies(claim) => excerpt(&format!("not so: {claim}"), room.text_chars_max),
            Self::Value(value) => room.quoted(value),
            Self::Other => "something else".to_owned(),
        }
    }
}

/// The room that a door has for foreign text.
#[derive(Clone, Copy, Debug)]
pub struct TextRoom {
    /// The longest value in characters.
    pub value_chars_max: usize,
    /// The longest claim or remark in characters.
    pub text_chars_max: usize,
}

impl TextRoom {
    /// A value as it stands in a sentence.
    pub fn quoted(self, value: &str) -> String {
        format!("`{}`", excerpt(value, self.value_chars_max))
    }
}
