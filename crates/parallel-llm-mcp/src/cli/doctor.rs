//! `doctor`: whether everything is as a run needs it.

use super::Desk;
use super::models::pretty;
use crate::exit;
use crate::output::console::Tone;
use crate::output::safe;
use crate::service::{Finding, Health};

/// See whether everything is ready for a run
///
/// Looks at settings, keys, models, local servers, the data folder and the database, all at once. It asks no model
/// and pays for nothing; the data folder and the database are made if they are missing. Exits with 0 when nothing
/// failed, else with 1.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Does the command.
pub(super) async fn run(desk: &Desk<'_>, doctor: &Doctor) -> u8 {
    let diagnosis = desk.service.examine().await;
    if doctor.json {
        desk.console.data(&pretty(&diagnosis));
    } else {
        let lines: Vec<String> = diagnosis.findings.iter().map(line).collect();
        desk.console.data(&lines.join("\n"));
        desk.console.say(&verdict(desk, &diagnosis.findings));
    }
    if diagnosis.state == Health::Failed { exit::FAILED } else { exit::ANSWER }
}

fn line(finding: &Finding) -> String {
    let next = finding.next.as_ref().map(|next| format!("\n{:26}next: {next}", "")).unwrap_or_default();
    safe::for_terminal(&format!("{:<8} {:<16} {}{next}", finding.state.word(), finding.check, finding.found))
}

fn verdict(desk: &Desk<'_>, findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (failed, warnings) = (count(Health::Failed), count(Health::Warning));
    let text = format!("{failed} failed, {warnings} to look at, {} ok", count(Health::Ok));
    let tone = match (failed, warnings) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Warning,
        _ => Tone::Bad,
    };
    desk.console.tone(tone, &text)
}
