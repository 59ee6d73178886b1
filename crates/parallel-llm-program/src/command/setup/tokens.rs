//! `keys create` and `keys revoke`: tokens for callers over the network. A token is printed once, on stdout, and stored
//! nowhere.

use parallel_llm_engine::{Failure, PicoUsd};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::command::context::CommandContext;
use crate::command::line::typed_line;
use crate::exit;
use crate::terminal::console::Tone;
use crate::terminal::table::Column;
use parallel_llm_service::report::age::age;
use parallel_llm_service::{MadeToken, Scope, TokenLine, TokenRequest, TokenState};
use parallel_llm_settings::clock;

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The units of a lifetime and their milliseconds.
const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
/// The longest lifetime in milliseconds: ten years. A longer one should have no end.
const LIFETIME_MS_MAX: u64 = 3_650 * 86_400_000;
/// The largest daily budget in USD; a larger one is a typing error.
const BUDGET_USD_MAX: i64 = 1_000_000;
/// The most requests in a minute: a thousand in a second are more than this server answers.
const PER_MINUTE_MAX: i64 = 60_000;
/// The longest name of a token shown in a table, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Make a token: a caller with it may ask this server, at your cost
///
/// The token is printed once, on stdout, and only its hash is stored. Its holder sees only the runs it asked for
/// itself, writes no files on this machine, and spends no more than its own limits and your settings allow. A name is
/// used once: that of a revoked token stays taken.
///
/// Example: parallel-llm-mcp keys create laptop --budget-day 5 --expires 90d
#[derive(Debug, clap::Args)]
pub struct Create {
    /// The name of the token, by which its runs are listed: lower-case letters, digits, `.`, `_` and `-`
    name: String,
    /// Its scope: `ask`, which costs money and shows the results, `read`, which only shows its own runs (these two unless given), or `metrics`, which shows the sums of everybody; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
    scopes: Vec<Scope>,
    /// The most its runs may cost in a day (UTC), in USD
    #[arg(long, value_name = "USD", value_parser = usd)]
    budget_day: Option<PicoUsd>,
    /// The most requests in a minute; each server that uses this data folder counts its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=PER_MINUTE_MAX))]
    per_minute: Option<u32>,
    /// Its lifetime, such as 90d, 12h, 30m or 60s; without end unless given
    #[arg(long, value_name = "TIME", value_parser = lifetime_ms)]
    expires: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Revoke a token: it is refused from the next request on
///
/// Without --yes it shows what would happen, does nothing and exits with 2. Its runs stay, and so does its line in `keys list`. A run
/// in progress goes on.
///
/// Example: parallel-llm-mcp keys revoke laptop --yes
#[derive(Debug, clap::Args)]
pub struct Revoke {
    /// The token's name or number, from `keys list`
    #[arg(value_name = "NAME")]
    name: String,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Makes a token.
pub(super) async fn create(context: &CommandContext<'_>, create: Create) -> Result<u8, Failure> {
    let request = TokenRequest {
        name: create.name,
        scopes: create.scopes,
        budget_day: create.budget_day,
        requests_per_minute: create.per_minute,
        lifetime_ms: create.expires,
    };
    let MadeToken { line, secret } = context.service.access.create_token(request).await?;
    if create.json {
        let mut object = json!(line);
        object["schema"] = SCHEMA.into();
        object["token"] = secret.expose_secret().into();
        context.console.data(&object.to_string());
    } else {
        context.console.data(secret.expose_secret());
    }
    context.console.say(&allowed(&line));
    let once = "this token is shown once and kept nowhere: give it to the client now, which sends it as \
                `Authorization: Bearer ...`";
    context.console.say(&context.console.tone(Tone::Strong, once));
    context.console.say(&format!("take it back with `keys revoke {} --yes`", line.name));
    Ok(exit::ANSWER)
}

/// Revokes a token, or shows which one it would be.
pub(super) async fn revoke(context: &CommandContext<'_>, revoke: &Revoke) -> Result<u8, Failure> {
    let service = context.service;
    let token = if revoke.yes {
        service.access.revoke_token(&revoke.name).await?
    } else {
        service.access.find_token(&revoke.name).await?
    };
    let unconfirmed = !revoke.yes && token.state != TokenState::Revoked;
    if revoke.json {
        let object = json!({ "schema": SCHEMA, "done": revoke.yes, "token": token });
        context.console.data(&object.to_string());
    } else {
        say_revoked(context, &token, revoke.yes);
    }
    if unconfirmed {
        return Err(typed_line::unconfirmed("nothing is revoked yet"));
    }
    Ok(exit::ANSWER)
}

fn say_revoked(context: &CommandContext<'_>, token: &TokenLine, is_done: bool) {
    let named = format!("the token `{}` (number {}, ...{})", token.name, token.id, token.last_four);
    match (is_done, token.state) {
        (true, _) => context.console.say(&format!("{named} is revoked: it lets nobody in any more")),
        (false, TokenState::Revoked) => context.console.say(&format!("{named} is revoked already")),
        (false, _) => context.console.say(&format!("{named} would let nobody in any more; its runs stay")),
    }
}

/// Prints the tokens as a table; nothing if there are none.
pub(super) fn render(context: &CommandContext<'_>, tokens: &[TokenLine]) {
    if tokens.is_empty() {
        return;
    }
    let columns = [
        Column::numbers("NO"),
        Column::words("TOKEN", NAME_CHARS_MAX),
        Column::words("ENDS", 8),
        Column::words("STATE", 8),
        Column::words("MAY", 20),
        Column::numbers("A DAY"),
        Column::numbers("A MINUTE"),
        Column::words("UNTIL", 10),
        Column::words("USED", 16),
    ];
    let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
    context.console.page("");
    context.console.table(&columns, &rows);
}

fn row(token: &TokenLine) -> Vec<String> {
    let unlimited = || "-".to_owned();
    let used = |ms| format!("{} ago", age(clock::unix_ms().saturating_sub(unix_ms(ms))));
    vec![
        token.id.to_string(),
        token.name.clone(),
        format!("...{}", token.last_four),
        token.state.word().to_owned(),
        token.scopes.join(", "),
        token.budget_day.map_or_else(unlimited, |budget| budget.to_string()),
        token.requests_per_minute.map_or_else(unlimited, |count| count.to_string()),
        token.expires_at_ms.map_or_else(unlimited, |ms| clock::day(unix_ms(ms))),
        token.last_used_at_ms.map_or_else(|| "never".to_owned(), used),
    ]
}

/// The rights of a token on one line.
fn allowed(token: &TokenLine) -> String {
    let budget = token.budget_day.map(|budget| format!("spend up to {budget} a day"));
    let rate = token.requests_per_minute.map(|count| format!("make {count} requests a minute"));
    let may: Vec<String> = token.scopes.iter().cloned().chain(budget).chain(rate).collect();
    let until = token.expires_at_ms.map_or_else(
        || "until it is revoked".to_owned(),
        |ms| format!("until {}", clock::stamp(unix_ms(ms))),
    );
    format!("`{}` may {}, {until}", token.name, may.join(", "))
}

fn unix_ms(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default()
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::by_word(text).ok_or_else(|| format!("one of `{}`", Scope::ALL.map(Scope::word).join("`, `")))
}

fn usd(text: &str) -> Result<PicoUsd, String> {
    let amount = PicoUsd::from_decimal(text).filter(|amount| *amount <= PicoUsd::from_usd(BUDGET_USD_MAX));
    amount.ok_or_else(|| format!("an amount in USD from 0 to {BUDGET_USD_MAX}, such as 2.50"))
}

fn lifetime_ms(text: &str) -> Result<u64, String> {
    let read = || {
        let (count, unit_ms) =
            UNITS.iter().find_map(|(unit, ms)| text.strip_suffix(unit).map(|count| (count, ms)))?;
        count.parse::<u64>().ok()?.checked_mul(*unit_ms)
    };
    let ms = read().filter(|ms| (1..=LIFETIME_MS_MAX).contains(ms));
    ms.ok_or_else(|| "a time such as 90d, 12h, 30m or 60s, up to 3650d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_they_are_written() {
        for (text, expected) in [
            ("90d", Some(7_776_000_000)),
            ("12h", Some(43_200_000)),
            ("30m", Some(1_800_000)),
            ("60s", Some(60_000)),
            ("60ms", None),
            ("3650d", Some(LIFETIME_MS_MAX)),
            ("3651d", None),
            ("0d", None),
            ("90", None),
            ("-1d", None),
            ("1.5d", None),
            ("never", None),
            ("18446744073709551615d", None),
        ] {
            assert_eq!(lifetime_ms(text).ok(), expected, "{text}");
        }
        for (text, expected) in [
            ("0", Some(PicoUsd::ZERO)),
            ("2.50", PicoUsd::from_decimal("2.5")),
            ("1000000", Some(PicoUsd::from_usd(1_000_000))),
            ("1000001", None),
            ("-1", None),
            ("$5", None),
        ] {
            assert_eq!(usd(text).ok(), expected, "{text}");
        }
        assert_eq!(scope("read"), Ok(Scope::Read));
        assert_eq!(scope("admin"), Err("one of `ask`, `read`, `metrics`".to_owned()));
    }
}
