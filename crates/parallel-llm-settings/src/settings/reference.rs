//! Generates the reference page of all settings in Markdown.

use std::fmt::Write;

use parallel_llm_provider::{Known, Protocol};

use super::providers::provider_table;
use super::sources::environment::OTHERS;
use super::sources::file::PROJECT_FILE;
use super::table::{Reach, Setting};
use super::tables::{persona, preset, price};

/// The start of the page.
const OPENING: &str = "\
# Configuration

A value is taken from the first of these that has it: a flag, the environment, the project's file, the user's
file, the default. `parallel-llm-mcp config show --origin` prints every value in force and where it came from.

- The user's file is `~/.config/parallel-llm-mcp/config.toml` (XDG).
- The project's file is `.parallel-llm.toml`, in the current folder or the nearest above it, up to the
  repository's root or the home folder. It comes with other people's code, so it may not set everything. Its panel,
  its synthesizers and its presets name models of OpenRouter, or of providers that your own panel, synthesizers or
  presets name already: who else reads a question is not for a project to choose.
- A blank variable counts as unset. A name that is not known is an error, with the nearest that is.
- Lists are separated by white space or commas in the environment, folders as in `PATH`; in a file they are lists.
- Keys stand in no settings file: see [Providers](#providers).
";

/// An example of all kinds of values; a test parses it.
pub(super) const EXAMPLE: &str = "\
panel = [\"~openai/gpt-sol-latest\", \"~google/gemini-pro-latest*2\", \"z-ai/glm-5.3@temperature=0.7\"]
synthesizer = \"~anthropic/claude-opus-latest\"
budget_usd = 1.50
wait = \"quorum:3\"
files = false

[presets.fast]
panel = [\"~openai/gpt-luna-latest\", \"~google/gemini-flash-latest\"]
budget_usd = 0.10
";

/// The introduction to providers.
const PROVIDERS: &str = "
## Providers

A model is written `provider:model`; without a provider it is OpenRouter's. Every provider of this table can be
called as soon as its key is set, mixed with others in one panel.

A name without provider and vendor is short for a model of OpenRouter's list: `claude-opus-5.5`, `opus`, `gpt-sol`. It
stands for the model with exactly this name behind the vendor, or else for the only one with these whole words in its
name. Among versions it stands for OpenRouter's own alias for the newest. A name that fits several models is refused, and
they are listed. Everything that follows, from the plan to the report, shows the full name. A short name needs the list of
the moment; where that cannot be fetched, the name is sent as it is written.

A key is taken from the first of these that has it: the provider's variable, the program of its `key_command`, the key
that `parallel-llm-mcp keys set PROVIDER` keeps in `~/.config/parallel-llm-mcp/keys.toml`, for its owner's eyes only;
`keys list` tells which. A base URL without a path gets the provider's own.

";

/// The introduction to provider tables.
const TABLES: &str = "
### Providers of your own

A table `[providers.NAME]` in the user's file changes a known provider or adds one. It is read from no project's file:
an address from a stranger steals keys. A name has up to 40 lower-case letters, digits or `-`.

";

/// An example of provider tables; a test parses it.
pub(super) const TABLES_EXAMPLE: &str = "\
[providers.team]
base_url = \"https://llm.example.com/v1\"
key_command = [\"pass\", \"show\", \"llm/team\"]
headers = { X-Team = \"blue\" }
calls_max = 8

[providers.openai-work]
kind = \"openai\"
key_variable = \"WORK_OPENAI_KEY\"
";

/// The introduction to aliases.
const ALIASES: &str = "
## Aliases

The table `[aliases]` in the user's file gives names of your own to models. An alias stands wherever a model is named: in
the panel, in presets, after `-m`, in MCP arguments. It may hold a number of seats and options; those typed with the
alias win. It may stand for another alias, but leads to a model in the end, and it may not have the name of a provider or
of another model. It is read from no project's file: a stranger does not choose what your names mean. A name has up to 40
lower-case letters, digits, `-`, `_` or `.`.

";

/// An example of aliases; a test parses it.
pub(super) const ALIASES_EXAMPLE: &str = "\
panel = [\"fast*2\", \"local\"]

[aliases]
fast = \"google/gemini-3.8-flash\"
local = \"ollama:llama4:8b@temperature=0.2\"
";

/// The introduction to prices.
const PRICES: &str = "
## Prices

A run's worst case is computed from prices: those of the provider's list, which is kept for a day, or of the same model in
OpenRouter's list, which is an estimate. A run of a model without a known price is refused with `price_unknown` under every
budget but `none`. A server on your own machine costs nothing. The table `[prices]` in the user's file tells the price of a
model that no list tells, and wins over those that do. It is read from no project's file: a price decides what a run may
cost.

";

/// An example of prices; a test parses it.
pub(super) const PRICES_EXAMPLE: &str = "\
[prices]
\"openai:gpt-private\" = { input_usd_per_million = 2, output_usd_per_million = 10 }
\"lab/model\" = { input_usd_per_million = 0.25, output_usd_per_million = 1.50, request_usd = 0.001 }
";

/// The introduction to personas.
const PERSONAS: &str = "
## Personas

A persona is a table `[personas.NAME]` in the user's file: who a seat is asked to be. `lab/model@persona=critic` gives
it to a seat, wherever models are named; what stands at the seat wins over it, and it wins over flags and settings that
hold for all seats. It is read from no project's file: a stranger does not speak to models for you. A project may name
those that you have. A name has up to 40 lower-case letters, digits or `-`.

Its `system`, then its `stance` in a sentence of ours, are the beginning of the seat's system message; what the caller
sends as such follows, and is never dropped. A synthesizer has no persona, and is not told of any. At a seat a stance is
`for` or `against`, with or without a persona: `lab/model@stance=against`.

";

/// An example of personas; a test parses it.
pub(super) const PERSONAS_EXAMPLE: &str = "\
[personas.critic]
system = \"You review designs. Say what breaks first, and under which load.\"
temperature = 0.3

[personas.rail]
stance = \"for distances under 800 km, trains beat planes\"

[presets.review]
panel = [
  \"~openai/gpt-sol-latest@persona=critic\",
  \"~google/gemini-pro-latest@persona=skeptic,effort=high\",
  \"~anthropic/claude-opus-latest\",
]
";

/// The whole page.
pub fn reference() -> String {
    let mut page = format!("{OPENING}\n```toml\n{EXAMPLE}```\n\n## Settings\n");
    for setting in Setting::ALL {
        page.push_str(&section(*setting));
    }
    page.push_str(&providers());
    page.push_str(&presets());
    let _ = write!(page, "{ALIASES}```toml\n{ALIASES_EXAMPLE}```\n");
    page.push_str(&prices());
    page.push_str(&personas());
    page.push_str("\n## Other variables\n\n");
    for (name, about) in OTHERS {
        let _ = writeln!(page, "- `{name}`: {about}");
    }
    page
}

fn section(setting: Setting) -> String {
    let default = match setting.default() {
        "" => "not set".to_owned(),
        text => format!("`{text}`"),
    };
    format!(
        "\n### `{}`\n\n{}\n\n- Written as: {}\n- Default: {default}, because {}.\n- Environment: `{}`\n- {}\n",
        setting.name(),
        setting.about(),
        setting.kind(),
        setting.reason(),
        setting.variable(),
        reach(setting.reach()),
    )
}

const fn reach(reach: Reach) -> &'static str {
    match reach {
        Reach::Project => "Files: the user's and the project's",
        Reach::Tighter => "Files: the user's and the project's, there not looser than the user has it",
        Reach::Longer => "Files: the user's and the project's, there not shorter than the user has it",
        Reach::User => "Files: the user's only",
    }
}

fn providers() -> String {
    let mut text = PROVIDERS.to_owned();
    text.push_str("| id | name | key | base URL | default address | protocol | files | calls at once |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for known in Known::ALL {
        let address = match known.base_url {
            "" => format!("yours, with `{}`", known.path),
            address => format!("`{address}`"),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` | `{}` | {address} | {} | {} | {} |",
            known.id,
            known.name,
            known.key_variable,
            known.base_url_variable,
            protocol(known.dialect.protocol),
            files(known),
            known.calls_max.map_or_else(|| "as set".to_owned(), |calls| calls.to_string()),
        );
    }
    text.push_str(TABLES);
    let _ = writeln!(text, "```toml\n{TABLES_EXAMPLE}```\n");
    for (key, written, about) in provider_table::KEYS {
        let _ = writeln!(text, "- `{key}` ({written}): {about}");
    }
    let kinds: Vec<String> = Known::KINDS.iter().map(|(kind, _)| format!("`{kind}`")).collect();
    let _ = writeln!(text, "\nFurther kinds: {}.", kinds.join(", "));
    text
}

const fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "chat completions",
        Protocol::Messages => "Anthropic's messages",
        Protocol::Gemini => "Google's `streamGenerateContent`",
    }
}

/// The attachments that the protocol supports; a model may support fewer.
const fn files(known: &Known) -> &'static str {
    match (known.dialect.inputs.image, known.dialect.inputs.document) {
        (true, true) => "pictures, documents",
        (true, false) => "pictures",
        (false, true) => "documents",
        (false, false) => "none",
    }
}

fn presets() -> String {
    let keys: Vec<String> = preset::keys().map(|key| format!("`{key}`")).collect();
    let mut text = format!(
        "\n## Presets\n\nA preset is a table `[presets.NAME]` in the user's file or the project's (`{PROJECT_FILE}`) with any \
         of\n{}. Where it says nothing, the settings hold. A file may replace a built-in one. A project's is laid \
         over\nyours of the same name, and may not loosen the limits that yours sets. A [flow](flows.md) composes several \
         stages\nand has a file of its own.\n\n",
        keys.join(", ")
    );
    for (name, preset) in preset::built_in() {
        let panel = preset
            .panel
            .map_or_else(|| "the settings as they are".to_owned(), |panel| format!("`{}`", panel.join(" ")));
        let _ = writeln!(text, "- `{name}`: {panel}");
    }
    text
}

fn prices() -> String {
    let mut text = format!("{PRICES}```toml\n{PRICES_EXAMPLE}```\n\n");
    for (key, about) in price::KEYS {
        let _ = writeln!(text, "- `{key}`: {about}");
    }
    text
}

fn personas() -> String {
    let mut text = format!("{PERSONAS}```toml\n{PERSONAS_EXAMPLE}```\n\n");
    for (key, written, about) in persona::KEYS {
        let _ = writeln!(text, "- `{key}` ({written}): {about}");
    }
    text.push_str("\nThese are there without a file; one of yours of the same name wins.\n\n");
    for (name, persona) in persona::built_in() {
        let _ = writeln!(text, "- `{name}`: \"{}\"", persona.system.unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_its_section() {
        let page = reference();
        for setting in Setting::ALL {
            assert!(page.contains(&format!("\n### `{}`\n", setting.name())), "{}", setting.name());
            assert!(page.contains(&format!("`{}`", setting.variable())), "{}", setting.name());
        }
        for name in ["quick", "default", "budget", "max"] {
            assert!(page.contains(&format!("\n- `{name}`: ")), "{name}");
        }
        for known in Known::ALL {
            assert!(
                page.contains(&format!("\n| `{}` | {} | `{}` |", known.id, known.name, known.key_variable))
            );
        }
        assert!(!page.contains("\n\n\n") && page.ends_with('\n'));
    }

    #[test]
    fn a_section_reads_well() {
        assert_eq!(
            section(Setting::RetriesMax),
            "
### `retries_max`

How often a failed call is retried before its first text.

- Written as: a whole number from 0 to 10
- Default: `2`, because two survive a short failure, and more would only worsen an outage.
- Environment: `PARALLEL_LLM_RETRIES_MAX`
- Files: the user's and the project's, there not looser than the user has it
"
        );
    }
}
