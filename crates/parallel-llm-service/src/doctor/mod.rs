//! The doctor: checks everything that a run needs, and names a remedy for each problem.
//!
//! `examination` has the table of all checks, which lie in `machine/` and `servers/`; what they find is a `finding`, together a
//! `diagnosis`. A check reports and repairs nothing, asks no model and costs nothing. It creates what the first run would create,
//! the folders and the database, because only that shows that they can be created. Asking the models themselves ([`probe`])
//! costs money and so is a run.

mod anonymizer;
mod bundle;
mod diagnosis;
mod examination;
mod finding;
mod instruments;
mod machine;
mod probe;
mod remedy;
mod servers;
mod system;

pub use diagnosis::Diagnosis;
pub use finding::{Finding, Health};
pub use instruments::{Depth, Doctor};
pub use probe::{Probe, ProbeReport};
pub use remedy::Remedy;
pub use system::size;
