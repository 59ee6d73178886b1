//! Going on with a run: one that was interrupted, one that lacks a seat, or one that is to have another text.
//!
//! Nothing it has is asked for again, whatever is wished for.

use std::time::Duration;

use parallel_llm_engine::panel::Seat;
use parallel_llm_engine::plan::Terms;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure, PicoUsd, Reopening, RunRequest, RunStatus, SeatNumber, SeatStatus};

use tokio::time::timeout;

use super::{Kept, RunHandle, Service};

/// How long the end of a run is waited for that may be about to come. More is worth being told.
const CLOSING_MAX: Duration = Duration::from_secs(2);

/// What is wanted of a run that is at a stand.
#[derive(Clone, Debug)]
pub enum Further {
    /// An answer: its seats without one are asked. Those sent and never heard of are asked again only where `resend`
    /// says so, because they may have been paid.
    Resume {
        /// Whether to pay a second time for what may have been paid.
        resend: bool,
        /// The most this part may cost besides what the run has cost so far; what is left of the run's own budget, and
        /// as much again once it has come to an outcome, where `None`.
        budget: Option<PicoUsd>,
    },
    /// The answers of further models (`request.models`), and a text of all of them.
    Add(RunRequest),
    /// Another text of the answers it has, with the synthesizer and the strategy of the request.
    Rewrite(RunRequest),
}

impl Service {
    /// Goes on with a run. Whatever is wrong is said before anything is paid.
    pub async fn go_on(&self, name: &str, further: Further) -> Result<RunHandle, Failure> {
        let run = match self.find(name).await? {
            Kept::Live(handle) if handle.is_closed() => self.durable(&handle).await?,
            Kept::Live(handle) if matches!(further, Further::Resume { .. }) => return Ok(handle.join()),
            Kept::Live(handle) => self.ended(&handle).await?,
            Kept::Past(past) => past.run,
        };
        check(&run, &further)?;
        let mut reopening = match &further {
            Further::Resume { resend, budget } => {
                let reopening = resume(&run, *resend)?;
                match budget {
                    Some(budget) => reopening.within((&run.plan, run.chain()), (run.cost_max(), *budget))?,
                    None => reopening,
                }
            }
            Further::Add(request) | Further::Rewrite(request) => self.resolve(&run, request).await?,
        };
        reopening.limits = self.settings().defaults().limits;
        let new = reopening.seats.iter().collect::<Vec<_>>();
        let again: Vec<&Seat> =
            run.plan.seats.iter().filter(|seat| reopening.ask.contains(&seat.number)).collect();
        // Without the key of a synthesizer the best answer is chosen, but one that was named must have its own.
        let named: Vec<&Seat> = match &further {
            Further::Rewrite(request) if request.synthesizer.is_some() => {
                reopening.synthesizers.iter().take(1).collect()
            }
            _ => Vec::new(),
        };
        self.check_keys(&[new, named].concat(), &again).await?;
        self.runs().await?.reopen(run, reopening, self.output_dir()).await
    }

    /// A run under way, over where that was a matter of moments.
    async fn ended(&self, handle: &RunHandle) -> Result<Run, Failure> {
        // Its answer may have been told a moment ago, and its end not yet.
        if handle.look(Run::is_decided) {
            let _ = timeout(CLOSING_MAX, handle.wait_closed()).await;
        }
        if handle.is_closed() { self.durable(handle).await } else { Ok(handle.snapshot()) }
    }

    /// A run that is over here as far as it can be gone on with: what is shown of it may not all be written.
    async fn durable(&self, handle: &RunHandle) -> Result<Run, Failure> {
        if handle.look(|run| run.plan.store) != StoreMode::Full {
            return Ok(handle.snapshot());
        }
        let mut run = self.load(handle.id()).await?.run;
        // The store may not know yet that nobody writes it any more.
        run.interrupt();
        Ok(run)
    }

    async fn resolve(&self, run: &Run, request: &RunRequest) -> Result<Reopening, Failure> {
        let defaults = self.settings().defaults();
        let catalogues = self.catalogues_for(request, &defaults).await;
        let terms = Terms { defaults: &defaults, providers: &self.0.providers, catalogues: &catalogues };
        let mut reopening =
            Reopening::resolve(request, &terms, (&run.plan, run.chain()), (Vec::new(), run.cost_max()))?;
        let places = [("seat", &*reopening.seats), ("synthesizer", &*reopening.synthesizers)];
        let unable = self.inabilities(&run.plan.routing, places);
        reopening.warnings.extend(unable);
        Ok(reopening)
    }
}

/// Whether there is anything to be had of the run.
fn check(run: &Run, further: &Further) -> Result<(), Failure> {
    let id = run.plan.run_id;
    if run.status == RunStatus::Running {
        let failure = Failure::new(Code::Busy, format!("the run {id} is still under way"));
        return Err(failure.with_next("wait for it with `runs wait`"));
    }
    if run.plan.store != StoreMode::Full {
        let message = format!("the texts of run {id} were not kept, so it cannot be gone on with");
        return Err(Failure::new(Code::Usage, message).with_next("ask again; `--store full` keeps texts"));
    }
    match further {
        Further::Resume { .. } if run.status == RunStatus::Complete => {
            let message = format!("the run {id} is complete; there is nothing to resume");
            let next = "see it with `runs show`, or add a model with `runs add`";
            Err(Failure::new(Code::Usage, message).with_next(next))
        }
        Further::Rewrite(_) if run.seats.iter().all(|seat| seat.answer.is_none()) => {
            let message = format!("the run {id} has no answers to make a text of");
            Err(Failure::new(Code::Usage, message).with_next("ask its seats with `runs resume`"))
        }
        _ => Ok(()),
    }
}

/// Asks the seats without an answer. Where the newest part was decided, another text is made by its synthesizers.
fn resume(run: &Run, resend: bool) -> Result<Reopening, Failure> {
    let is_open = |status| match status {
        SeatStatus::Answered | SeatStatus::Cut => false,
        SeatStatus::Unknown => resend,
        _ => true,
    };
    let seats = run.plan.seats.iter().zip(&run.seats).filter(|(_, view)| is_open(view.status));
    let ask: Vec<SeatNumber> = seats.map(|(seat, _)| seat.number).collect();
    if !run.is_decided() {
        return Ok(Reopening::resume(&run.plan, ask));
    }
    if ask.is_empty() {
        let message = format!("the run {} has no seat that could be asked", run.plan.run_id);
        let unknown = run.seats.iter().any(|seat| seat.status == SeatStatus::Unknown);
        let next = if unknown {
            "`runs resume --resend` also asks seats that were sent and never heard of, which may be paid twice"
        } else {
            "add a model with `runs add`, or make another text with `runs synthesize`"
        };
        return Err(Failure::new(Code::Usage, message).with_next(next));
    }
    Reopening::again(&run.plan, ask, run.chain())
}
