//! Short answers that are written differently and mean the same, as a model says.
//!
//! Invariant: whatever the model says, two numbers, two of the words yes, no, true and false, and two labels stay different.

use crate::agreement::{Agreement, Cluster};
use crate::request::panel::ModelRef;
use crate::text::short_answer::Value;
use crate::value::answer::Failure;

/// What the model said in this part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Equivalents {
    /// Values that mean the same, as they are displayed.
    groups: Vec<Vec<String>>,
    /// The model.
    by: Option<ModelRef>,
    /// Why its newest call said nothing.
    pub(crate) failure: Option<Failure>,
}

/// Each of these clusters with each that follows it.
pub(crate) fn pairs<'a>(clusters: &'a [&'a Cluster]) -> impl Iterator<Item = (&'a Cluster, &'a Cluster)> {
    let others = |at: usize| &clusters[at + 1..];
    clusters.iter().enumerate().flat_map(move |(at, one)| others(at).iter().map(move |other| (*one, *other)))
}

/// Whether the values of two clusters may mean the same.
pub(crate) fn may_be_same((one, other): (&Cluster, &Cluster)) -> bool {
    one.values().all(|one| other.values().all(|other| are_compatible(one, other)))
}

/// Whether two different values may mean the same.
fn are_compatible(one: &str, other: &str) -> bool {
    let are = |is: fn(&str) -> bool| is(one) && is(other);
    let is_label = |value: &str| value.chars().nth(1).is_none();
    !(are(Value::is_number) || are(Value::is_truth) || is_label(one) && is_label(other))
}

impl Equivalents {
    /// Adds what the model said about these values.
    pub(crate) fn add(&mut self, by: &ModelRef, groups: Vec<Vec<String>>) {
        self.by = Some(by.clone());
        self.groups.extend(groups);
    }

    /// The agreement with the clusters merged that mean the same.
    pub(crate) fn merge(&self, mut agreement: Agreement) -> Agreement {
        let count = agreement.clusters.len();
        for group in &self.groups {
            let (same, others): (Vec<Cluster>, Vec<Cluster>) = agreement
                .clusters
                .into_iter()
                .partition(|cluster| cluster.values().any(|value| group.contains(value)));
            agreement.clusters = others;
            agreement.clusters.extend(merged(same));
        }
        if agreement.clusters.len() < count {
            agreement.grouped_by.clone_from(&self.by);
        }
        agreement.ordered()
    }
}

/// These clusters as one, or as they are if two of their values cannot mean the same.
fn merged(same: Vec<Cluster>) -> Vec<Cluster> {
    if !pairs(&same.iter().collect::<Vec<_>>()).all(may_be_same) {
        return same;
    }
    let mut same = super::in_order(same).into_iter();
    let Some(first) = same.next() else { return Vec::new() };
    let whole = same.fold(first, |mut whole, cluster| {
        whole.also.extend(cluster.value.into_iter().chain(cluster.also));
        whole.seats.extend(cluster.seats);
        whole
    });
    vec![whole]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::panel::{ProviderId, SeatNumber};

    fn check(values: &[&str], groups: &[&[&str]], expected: &str) {
        let clusters = values.iter().zip((1..).map(SeatNumber));
        let cluster = |(value, seat): (&&str, SeatNumber)| Cluster {
            value: Some((*value).to_owned()),
            seats: vec![seat],
            ..Cluster::default()
        };
        let agreement = Agreement {
            equal: 1,
            of: values.len(),
            clusters: clusters.map(cluster).collect(),
            ..Agreement::default()
        };
        let mut equivalents = Equivalents::default();
        let by = ModelRef { provider: ProviderId("router".to_owned()), model: "small".to_owned() };
        for group in groups {
            equivalents.add(&by, vec![group.iter().map(|value| (*value).to_owned()).collect()]);
        }
        let merged = equivalents.merge(agreement);
        let rendered: Vec<String> = merged
            .clusters
            .iter()
            .map(|one| {
                let seats: Vec<String> = one.seats.iter().map(ToString::to_string).collect();
                format!("{} {}", one.values().cloned().collect::<Vec<_>>().join("="), seats.join(","))
            })
            .collect();
        let by = if merged.grouped_by.is_some() { " by model" } else { "" };
        assert_eq!(format!("{} of {}: {}{by}", merged.equal, merged.of, rendered.join("; ")), expected);
    }

    #[test]
    fn values_of_a_group_are_one_cluster() {
        check(
            &["Rome", "Paris", "the city of Paris"],
            &[&["Paris", "the city of Paris"]],
            "2 of 3: Paris=the city of Paris 2,3; Rome 1 by model",
        );
        check(&["a b", "b a", "ab"], &[&["a b", "b a"], &["ab", "b a"]], "3 of 3: a b=b a=ab 1,2,3 by model");
        check(&["Rome", "Paris"], &[], "1 of 2: Rome 1; Paris 2");
        check(&["Rome", "Paris"], &[&["Rome", "Roma"]], "1 of 2: Rome 1; Paris 2");
    }

    #[test]
    fn what_cannot_mean_the_same_is_never_merged() {
        for pair in [["6", "8"], ["yes", "no"], ["A", "B"], ["true", "false"], ["1984", "1985"]] {
            check(&pair, &[&pair], &format!("1 of 2: {} 1; {} 2", pair[0], pair[1]));
        }
        check(&["six", "6", "8"], &[&["six", "6", "8"]], "1 of 3: six 1; 6 2; 8 3");
        check(&["6", "six", "8"], &[&["six", "6"], &["six", "8"]], "2 of 3: 6=six 1,2; 8 3 by model");
    }
}
