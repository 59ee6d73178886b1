//! `ask`: one question to the panel, the answer on stdout, everything else on stderr.

use parallel_llm_engine::Failure;

use super::answer::{begun, finish};
use super::answer_file::AnswerFile;
use super::dry_run::{self, Sent};
use super::question::{Ask, Draft};
use super::{preset_as_model, second_model};
use crate::command::context::CommandContext;
use crate::command::line::near_file;
use crate::command::watch::opened::BoundPage;
use crate::exit;
use crate::terminal::summary;
use parallel_llm_settings::signals::Signals;

/// Asks the question and prints the answer.
pub(in crate::command) async fn run(context: &CommandContext<'_>, mut ask: Ask) -> Result<u8, Failure> {
    ask.progress.check(&context.console)?;
    let settings = &context.service.settings;
    ask.set_strategy(settings)?;
    if let Some(note) = ask.note_of_panel(settings) {
        context.console.say(&note);
    }
    second_model::check_each(&ask.models)?;
    second_model::check_synthesizer(ask.synthesizer.as_deref())?;
    second_model::check(&ask.behind_models, &context.service.models).await?;
    preset_as_model::check(context, &ask.models).await?;
    ask.resolve_continued(context).await?;
    let Draft { message, attached, parts } = ask.draft(context).await?;
    let mut question = ask.question(message)?;
    question.request.lineage.trace = settings.telemetry.parent.clone();
    if ask.dry_run {
        return dry_run::run(context, question, &Sent { attached, parts }, ask.json).await;
    }
    // `-` is stdout in most programs, and the name of no file in any.
    ask.output.take_if(|path| path.as_os_str() == "-");
    let file = match &ask.output {
        Some(path) => Some(AnswerFile::reserve(&near_file::at_home(path)).await?),
        None => None,
    };
    let page = if ask.open { Some(BoundPage::bind(context).await?) } else { None };
    let quote = context.service.ask.quote(question).await?;
    // Without a limit a model is asked that its provider does not list.
    let limited = quote.plan().filter(|plan| !plan.budget.is_unlimited());
    limited.map_or(Ok(()), dry_run::check_panel)?;
    if !attached.is_empty() {
        context.console.say(&format!("attached: {attached}"));
    }
    let mut signals = Signals::new();
    let handle = match begun(quote.begin(), &mut signals).await? {
        Ok(handle) => handle,
        Err(signal) => return Ok(exit::of_signal(signal)),
    };
    summary::render_earlier(&context.console, handle.with_run(|run| run.plan.continues));
    let page = page.map(|page| page.show(context, handle.id()));
    let code = finish(context, &handle, &ask, file, signals).await?;
    // A signal during the run ends the page with it.
    if let Some(page) = page.filter(|_| !exit::is_of_signal(code)) {
        page.until_signal().await;
    }
    Ok(code)
}
