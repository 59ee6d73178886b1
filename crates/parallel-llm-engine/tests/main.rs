//! Tests of the engine through its public interface: plans are resolved and runs are executed against scripted
//! models, and the transcript of each run is compared. Time is paused, so a run of twenty minutes takes no time.
//!
//! All files are one binary, because they share one harness and link once.

mod admission;
mod analysis;
mod best;
mod best_of_n;
mod budget;
mod cancel;
mod cascade;
mod check;
mod council;
mod defect;
mod early;
mod equivalence;
mod escalation;
mod floor;
mod floor_texts;
mod flow;
mod format;
mod gate;
mod hostile;
mod hub;
mod invariants;
mod journal;
mod ledger;
mod links;
mod moa;
mod panel;
mod paranoid;
mod plan;
mod proof;
mod race;
mod reopen;
mod resume;
mod retry;
mod rounds;
mod scenario;
mod script;
mod shown;
mod signs;
mod simulation;
mod synthesize;
mod text_budget;
mod timer;
mod tournament;
mod transcript;
mod vote;
mod wait;
