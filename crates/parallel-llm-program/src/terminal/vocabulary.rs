//! What the command line calls the things that can be done next: its commands and their flags.

use parallel_llm_engine::value::next::{
    self, Advice, Argument, Audience, Limit, Next, Operation, Vocabulary,
};

use crate::called;

/// For whoever sits at the command line.
pub const COMMAND_LINE: Vocabulary =
    Vocabulary { operation, argument, limit, audience: Audience::Owner, spelled: called::spelled };

/// A choice of steps in the words of the command line.
pub fn describe(steps: &[Next]) -> String {
    if called::demo_flag().is_empty() {
        return next::render(steps, &COMMAND_LINE);
    }
    // The demo takes no folder of the user's, and no question.
    let of_demo = steps.iter().filter_map(|step| match step {
        Next::Give(Argument::OutputFolder) => None,
        Next::Do(Advice::AskSomethingFirst) => Some(Next::Use(Operation::Demo)),
        step => Some(step.clone()),
    });
    next::render(&of_demo.collect::<Vec<_>>(), &COMMAND_LINE)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a vocabulary: other doors lack names")]
fn operation(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::ShowRun => called::of_demo("`runs show`", "`runs show @ --demo`"),
        Operation::WaitForRun => called::of_demo("`runs wait`", "`runs wait @ --demo`"),
        Operation::Resume => called::of_demo("`runs resume`", "`runs resume @ --demo`"),
        Operation::Resend => called::of_demo("`runs resume --resend`", "`runs resume @ --resend --demo`"),
        Operation::AddModels => called::of_demo("`runs add`", "`runs add @ --demo`"),
        Operation::Synthesize => called::of_demo("`runs synthesize`", "`runs synthesize @ --demo`"),
        Operation::Replay => called::of_demo("`runs replay`", "`runs replay @ --demo`"),
        Operation::FindRun => called::of_demo("`runs list`", "`runs list --demo`"),
        Operation::AskAnew => "`--fresh`",
        Operation::KeepTexts => "`--store full`",
        Operation::KeepFacts => "`--store metadata`",
        Operation::ListModels => called::choose("`parallel-llm-mcp models`", "`pllm models`"),
        Operation::ListModelsTakingFiles => "`models --attachments`",
        Operation::Help => called::choose("`parallel-llm-mcp help`", "`pllm help`"),
        Operation::Demo => called::choose("`parallel-llm-mcp demo`", "`pllm demo`"),
        Operation::Doctor => called::choose("`parallel-llm-mcp doctor`", "`pllm doctor`"),
        Operation::DoctorDeep => "`doctor --deep`",
        Operation::ListKeys => "`keys list`",
        Operation::RemoveKey => "`keys remove`",
        Operation::CreateToken => "`keys create NAME`",
        Operation::WidenToken => "`keys create NAME --scope ...`",
        Operation::ShowSettings => "`config show`",
        Operation::ListCodes => called::choose("`parallel-llm-mcp explain`", "`pllm explain`"),
        Operation::ExportReport => called::of_demo("`runs export --jsonl`", "`runs export @ --jsonl --demo`"),
        Operation::ListProviderModels => "`models --provider NAME`",
    })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a vocabulary: other doors lack names")]
const fn argument(argument: Argument) -> Option<&'static str> {
    Some(match argument {
        Argument::Prompt => "an argument, as `@file` or on stdin",
        Argument::Synthesizer => "`--synthesizer`",
        Argument::Strategy => "`--strategy best-of-n@by=check`",
        Argument::Check => "`--check`",
        Argument::OutputFolder => "`--output-dir`",
        Argument::Wait => "`--wait`",
        Argument::AllowSecretFile => "`--allow-secret-file`",
    })
}

const fn limit(limit: &Limit) -> Option<&'static str> {
    match limit {
        Limit::Budget => Some("--budget"),
        Limit::OutputTokens => Some("--max-tokens"),
        Limit::Deadline => Some("--deadline"),
        Limit::Setting { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::value::money::PicoUsd;
    use parallel_llm_engine::value::next::{Blank, MachineStep, PLAIN, When};
    use parallel_llm_engine::{Code, value::next};
    use parallel_llm_service::{Grant, Principal};

    use super::*;

    /// Every step there is, with data that would be seen. The match names each kind, so that none can be forgotten.
    fn every_step() -> Vec<Next> {
        let limits = [Limit::Budget, Limit::OutputTokens, Limit::Deadline];
        let mut steps: Vec<Next> = Advice::ALL.iter().copied().map(Next::Do).collect();
        steps.extend(Operation::ALL.iter().copied().map(Next::Use));
        steps.extend(Argument::ALL.iter().copied().map(Next::Give));
        steps.extend(limits.iter().cloned().map(Next::Raise));
        steps.extend(limits.into_iter().map(Next::Lower));
        steps.extend([
            Next::raise_setting("prompt_chars_max"),
            Next::Lower(Limit::Setting { name: "retries_max".into(), now: Some(2) }),
            Next::Meant("quick".into()),
            Next::choose_one(["a", "b"]),
            Next::WriteAs("90s".into()),
            Next::Example("{\"a\": 1}".into()),
            Next::LeaveOut("ca_file".into()),
            Next::NameWith("--command".into()),
            Next::Type("doctor --deep --yes".into()),
            Next::See("ask --help".into()),
            Next::Serve {
                command: "parallel-llm-mcp serve --http 0.0.0.0:1".into(),
                when: When::WithToken,
                blanks: vec![Blank::ServerName, Blank::Files],
            },
            Next::WholeNumber { from: 1, to: 2 },
            Next::BudgetBetween { from: PicoUsd::from_usd(1), to: PicoUsd::from_usd(2) },
            Next::BudgetOfAtMost(PicoUsd::from_usd(2)),
            Next::AllowBudget(PicoUsd::from_usd(2)),
            Next::AllowAnyCost,
            Next::GivePrice("lab/model".into()),
            Next::WaitForSeats(3),
            Next::AttachAtMost(3),
            Next::WaitUntil("Fri, 20 Nov 2026 13:00:00 GMT".into()),
            Next::WaitForNextDay { minutes: 61 },
            Next::Set("check_command".into()),
            Next::WidenTo("ask".into()),
        ]);
        steps.extend(every_step_at_the_machine().map(Next::Machine));
        let kinds: std::collections::BTreeSet<u8> = steps.iter().map(kind).collect();
        assert_eq!(kinds.len(), 27, "a kind of step is not in the list");
        steps
    }

    fn every_step_at_the_machine() -> impl Iterator<Item = MachineStep> {
        let path = || "/home/owner/data".into();
        [
            MachineStep::SetVariable("HOME".into()),
            MachineStep::UnsetVariable("HOME".into()),
            MachineStep::SetAsUser { setting: "panel".into(), variable: Some("PARALLEL_LLM_PANEL".into()) },
            MachineStep::SetBaseUrl { provider: "team".into(), variable: None },
            MachineStep::CorrectVariable("TEAM_API_KEY".into()),
            MachineStep::KeepKey("team".into()),
            MachineStep::KeepKeyInstead("team".into()),
            MachineStep::ReplaceKey("team".into()),
            MachineStep::CopyKey("team".into()),
            MachineStep::TryKeyCommand("team".into()),
            MachineStep::SetInPreset { preset: "quick".into(), key: "budget_usd".into() },
            MachineStep::TrustReader("team".into()),
            MachineStep::WriteTable("[personas.NAME]".into()),
            MachineStep::Restrict { path: path(), mode: "600".into() },
            MachineStep::EndHolder(path()),
        ]
        .into_iter()
    }

    const fn kind(step: &Next) -> u8 {
        match step {
            Next::Do(_) => 0,
            Next::Use(_) => 1,
            Next::Give(_) => 2,
            Next::Raise(_) => 3,
            Next::Lower(_) => 4,
            Next::Meant(_) => 5,
            Next::ChooseOne(_) => 6,
            Next::WriteAs(_) => 7,
            Next::Example(_) => 8,
            Next::LeaveOut(_) => 9,
            Next::NameWith(_) => 10,
            Next::Type(_) => 11,
            Next::Serve { .. } => 12,
            Next::WholeNumber { .. } => 13,
            Next::BudgetBetween { .. } => 14,
            Next::BudgetOfAtMost(_) => 15,
            Next::WaitForSeats(_) => 16,
            Next::AttachAtMost(_) => 17,
            Next::WaitUntil(_) => 18,
            Next::WaitForNextDay { .. } => 19,
            Next::Set(_) => 20,
            Next::Machine(_) => 21,
            Next::See(_) => 22,
            Next::WidenTo(_) => 23,
            Next::AllowBudget(_) => 24,
            Next::AllowAnyCost => 25,
            Next::GivePrice(_) => 26,
        }
    }

    fn tenant() -> Principal {
        let grant = Grant {
            name: "laptop".to_owned(),
            scopes: Vec::new(),
            budget_day: None,
            requests_per_minute: None,
        };
        Principal::TokenHolder(grant.into())
    }

    /// Each step alone, and what each code has to say.
    fn every_choice() -> Vec<Vec<Next>> {
        let codes = Code::ALL.iter().map(|code| code.next().to_vec());
        every_step().into_iter().map(|step| vec![step]).chain(codes).collect()
    }

    /// The flag or command of the command line in a text, quoted or not.
    fn command(text: &str) -> Option<&str> {
        const COMMANDS: [&str; 9] = [
            "`runs",
            "`keys",
            "`doctor",
            "`config",
            "`models ",
            "`explain",
            "`store",
            "parallel-llm-mcp ",
            " --",
        ];
        COMMANDS.into_iter().chain(["`--"]).find(|command| text.contains(command))
    }

    #[test]
    fn a_door_without_a_command_line_names_no_flag_and_no_command() {
        let tenant = tenant();
        let doors = [
            ("tools, for the owner", *parallel_llm_mcp_door::vocabulary::of(&Principal::Owner)),
            ("tools, for others", *parallel_llm_mcp_door::vocabulary::of(&tenant)),
            ("HTTP", parallel_llm_http::failure::VOCABULARY),
        ];
        for (door, words) in doors {
            for steps in every_choice() {
                let rendered = next::render(&steps, &words);
                assert_eq!(command(&rendered), None, "{door}: {steps:?} is rendered as {rendered}");
                assert!(!rendered.is_empty() && !rendered.ends_with(['.', ' ']), "{door}: {rendered:?}");
            }
        }
    }

    #[test]
    fn advice_to_other_users_names_nothing_that_only_the_owner_has() {
        const OWNERS: [&str; 6] =
            ["/home", "data folder", "`chmod", "[providers", "your own file", "permissions"];
        let tenant = tenant();
        for words in [*parallel_llm_mcp_door::vocabulary::of(&tenant), parallel_llm_http::failure::VOCABULARY]
        {
            for steps in every_choice() {
                let rendered = next::render(&steps, &words);
                let described = OWNERS.into_iter().find(|word| rendered.contains(word));
                assert_eq!(described, None, "{steps:?} is rendered as {rendered}");
                let asks_the_owner = rendered.contains("the owner of this server");
                let is_the_owners = rendered.contains("the setting `") || rendered.contains("set `");
                assert!(!is_the_owners || asks_the_owner, "{steps:?} is rendered as {rendered}");
            }
        }
    }

    #[test]
    fn the_command_line_has_a_name_for_everything() {
        for steps in every_choice() {
            let rendered = describe(&steps);
            assert!(!rendered.is_empty() && !rendered.ends_with(['.', ' ']), "{rendered:?}");
            assert!(next::render(&steps, &PLAIN).len() > 4);
        }
    }
}
