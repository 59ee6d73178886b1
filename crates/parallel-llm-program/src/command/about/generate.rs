//! `generate`: documentation pages generated from the code.

use parallel_llm_engine::Code;

use crate::command::line::help;
use crate::exit;
use crate::terminal::console::Console;
use crate::terminal::vocabulary;
use parallel_llm_app::doors::openapi;
use parallel_llm_install::clients;
use parallel_llm_service::report::Report;
use parallel_llm_service::report::event::line::EventLine;
use parallel_llm_service::telemetry;
use parallel_llm_settings::settings;

/// A generated page.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Page {
    /// Every command and flag.
    Cli,
    /// Every setting.
    Configuration,
    /// Every error code and exit code.
    Errors,
    /// The JSON schema of the run report.
    ReportSchema,
    /// The JSON schema of a line of a run's event stream.
    EventSchema,
    /// The description of the OpenAI-compatible endpoint.
    Openapi,
    /// The settings files of MCP clients and their formats.
    Clients,
    /// The figures of a server.
    Figures,
    /// The configuration that most clients read.
    McpConfig,
}

/// Writes the page.
pub(in crate::command) fn run(console: &Console, page: Page) -> u8 {
    console.data(&match page {
        Page::Cli => commands(),
        Page::Configuration => settings::reference(),
        Page::Errors => errors(),
        Page::Clients => clients::page(),
        Page::Figures => telemetry::reference(),
        Page::McpConfig => clients::example(),
        Page::ReportSchema => format!("{:#}", schemars::schema_for!(Report).to_value()),
        Page::Openapi => format!("{:#}", openapi::document()),
        Page::EventSchema => format!("{:#}", schemars::schema_for!(EventLine).to_value()),
    });
    exit::ANSWER
}

fn commands() -> String {
    let mut command = help::reference();
    command.build();
    let mut page = "# Command line\n\nGenerated from the program.\n".to_owned();
    page_of(&mut command, &mut page);
    page
}

fn page_of(command: &mut clap::Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    *page += &format!("\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for inner in
        command.get_subcommands_mut().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        page_of(inner, page);
    }
}

fn errors() -> String {
    let mut page = "# Errors\n\nGenerated from the program. Codes never change their meaning.\n\n".to_owned();
    page.push_str("| code | meaning | what to do | retryable | exit |\n|---|---|---|---|---|\n");
    for code in Code::ALL {
        let retryable = if code.retryable() { "yes" } else { "no" };
        let row = format!(
            "| `{code}` | {} | {} | {retryable} | {} |\n",
            code.about(),
            vocabulary::describe(code.next()),
            exit::of(*code)
        );
        page += &row;
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in exit::ALL {
        page += &format!("| {code} | {meaning} |\n");
    }
    page
}
