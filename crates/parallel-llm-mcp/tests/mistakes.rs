//! Mistakes that people make at the command line. Each answer names what is wrong and what to type instead, in a few lines
//! on stderr, and costs nothing.

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Call, Output, Sandbox};

use crate::matrix::database::{self, OutsideConnection};

const ONE: &str = "x-ai/grok-4.7";
const CONFIG: &str = ".config/parallel-llm-mcp/config.toml";
const TEMPLATE: &str = ".config/parallel-llm-mcp/templates/review.md";
/// The most lines of an answer. A help page is another kind of answer.
const LINES_MAX: usize = 6;
/// Traces of a program that shows its insides.
const INSIDES: [&str; 10] =
    ["panicked", "RUST_BACKTRACE", "Some(", "None", "Ok(", "Err(", "Os {", "kind:", "\\\"", "parallel_llm"];

/// A mistake, and what the answer must hold.
pub(crate) struct Mistake {
    typed: Vec<&'static str>,
    prepare: fn(&Sandbox),
    around: for<'a> fn(&'a Sandbox, Call<'a>) -> Call<'a>,
    exit: i32,
    /// What is wrong, in the first line.
    wrong: &'static str,
    /// What to type, in the line `next: `.
    next: &'static str,
    /// Whether a provider must be asked, because its answer is the trouble.
    asks: bool,
}

/// The mistake of typing this.
pub(crate) fn typed<const N: usize>(
    typed: [&'static str; N],
    exit: i32,
    wrong: &'static str,
    next: &'static str,
) -> Mistake {
    Mistake { typed: typed.to_vec(), prepare: |_| (), around: |_, call| call, exit, wrong, next, asks: false }
}

impl Mistake {
    /// In a home prepared like this.
    pub(crate) fn after(self, prepare: fn(&Sandbox)) -> Self {
        Self { prepare, ..self }
    }

    /// Called like this.
    pub(crate) fn with(self, around: for<'a> fn(&'a Sandbox, Call<'a>) -> Call<'a>) -> Self {
        Self { around, ..self }
    }

    /// Seen only when a provider is asked.
    fn asking(self) -> Self {
        Self { asks: true, ..self }
    }

    /// What is wrong with the answer.
    fn faults(&self) -> Vec<String> {
        let sandbox = sandbox();
        (self.prepare)(&sandbox);
        let asked_before = sandbox.chats().len();
        let output = (self.around)(&sandbox, sandbox.call(&self.typed)).run();
        output.assert_no_key();
        let asked = sandbox.chats().len() > asked_before;
        let mut faults = self.faults_of(&output);
        if asked != self.asks {
            faults.push(format!("a provider was {}asked", if asked { "" } else { "not " }));
        }
        let heading = format!("{:?}\n{}", self.typed, output.stderr);
        faults.into_iter().map(|fault| format!("{heading}  => {fault}\n")).collect()
    }

    fn faults_of(&self, output: &Output) -> Vec<String> {
        let mut faults = Vec::new();
        let mut require = |holds: bool, fault: String| {
            if !holds {
                faults.push(fault);
            }
        };
        let (first, rest) = output.stderr.split_once('\n').unwrap_or((&output.stderr, ""));
        let next = rest.lines().find_map(|line| line.strip_prefix("  next: ")).unwrap_or_default();
        require(output.code == Some(self.exit), format!("exit {:?}, not {}", output.code, self.exit));
        require(output.stdout.is_empty(), format!("on stdout: {}", output.text()));
        require(has_code(first), "no error code".to_owned());
        require(first.contains(self.wrong), format!("what is wrong: {}", self.wrong));
        require(next.contains(self.next), format!("what to type: {}", self.next));
        require(!next.is_empty(), "no next step".to_owned());
        let lines = output.stderr.lines().count();
        require(lines <= LINES_MAX, format!("{lines} lines"));
        for inside in INSIDES {
            require(!output.stderr.contains(inside), format!("holds `{inside}`"));
        }
        faults
    }
}

/// Whether the line begins with an error code that `explain` knows by its form: `error[model_unknown]: `.
fn has_code(line: &str) -> bool {
    let code = line.strip_prefix("error[").and_then(|rest| Some(rest.split_once("]: ")?.0));
    code.is_some_and(|code| {
        !code.is_empty() && code.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// Fails with all faults of all answers.
pub(crate) fn check(mistakes: impl IntoIterator<Item = Mistake>) {
    let faults: Vec<String> = mistakes.into_iter().flat_map(|mistake| mistake.faults()).collect();
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n"));
}

/// Asks one model in the sandbox, so that there is a run.
fn ask_once(sandbox: &Sandbox) {
    let output = sandbox.call(["ask", "-q", "-m", ONE, "Why?"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn commands() {
    check([
        typed(["aks", "x y"], 2, "there is no command `aks`", "did you mean `ask`?"),
        typed(["list"], 2, "there is no command `list`", "did you mean `parallel-llm-mcp runs list`?"),
        typed(["hlep"], 2, "there is no command `hlep`", "did you mean `help`?"),
        typed(
            ["which", "is", "faster"],
            2,
            "there is no command `which`",
            "parallel-llm-mcp \"which is faster\"",
        ),
        typed(["runs lst"], 2, "`runs lst` in quotes is a command", "type `parallel-llm-mcp runs list`"),
        typed(
            ["runs", "lsit"],
            2,
            "`parallel-llm-mcp runs` has no command `lsit`",
            "did you mean `parallel-llm-mcp runs list`?",
        ),
        typed(
            ["runs", "frob"],
            2,
            "`parallel-llm-mcp runs` has no command `frob`",
            "choose one of: list, show",
        ),
        typed(
            ["serve", "sse"],
            2,
            "`TRANSPORT` cannot be `sse`: there are `stdio`, and HTTP with `--http ADDRESS`",
            "type `parallel-llm-mcp serve --http 127.0.0.1:8930`",
        ),
    ]);
}

#[test]
fn flags() {
    check([
        typed(["ask", "--modle", ONE, "Why?"], 2, "there is no flag `--modle`", "did you mean `--model`?"),
        typed(["--verison"], 2, "there is no flag `--verison`", "did you mean `--version`?"),
        typed(["Which is faster?", "--jsno"], 2, "there is no flag `--jsno`", "did you mean `--json`?"),
        typed(
            ["ask", "--colour", "Why?"],
            2,
            "there is no flag `--colour`",
            "see `parallel-llm-mcp ask --help`",
        ),
        typed(
            ["ask", "--budget", "1", "--budget", "2", "Why?"],
            2,
            "`--budget` is given more than once",
            "see `parallel-llm-mcp ask --help`",
        ),
        typed(
            ["ask", "Why?", "--budget"],
            2,
            "`--budget` needs a value",
            "see `parallel-llm-mcp ask --help`",
        ),
        typed(
            ["ask", "--strict=yes", "Why?"],
            2,
            "`--strict` takes no value",
            "see `parallel-llm-mcp ask --help`",
        ),
        typed(
            ["ask", "--progress", "loud", "Why?"],
            2,
            "`--progress` cannot be `loud`",
            "choose one of: auto, tty",
        ),
        typed(
            ["ask", "--progress", "palin", "Why?"],
            2,
            "`--progress` cannot be `palin`",
            "did you mean `plain`?",
        ),
        typed(
            ["runs", "show", "@", "@~1"],
            2,
            "`parallel-llm-mcp runs show` takes no further argument, but there is `@~1`",
            "type `parallel-llm-mcp runs show @`",
        ),
        typed(
            ["runs", "show", "@", "--agreement", "--events"],
            2,
            "`--agreement` cannot be combined with `--events`",
            "see `parallel-llm-mcp runs show --help`",
        ),
        typed(
            ["runs", "purge"],
            2,
            "`RUN` or `--older-than` is missing",
            "see `parallel-llm-mcp runs purge --help`",
        ),
        typed(["completions", "csh"], 2, "`SHELL` cannot be `csh`", "choose one of: bash, elvish, fish"),
    ]);
}

#[test]
fn models() {
    check([
        typed(
            ["ask", "-m", "claude", "Why?"],
            2,
            "the name `claude` fits 5 models",
            "~anthropic/claude-opus-latest",
        ),
        typed(
            ["ask", "-m", "gpt5", "Why?"],
            2,
            "the model `gpt5` is unknown",
            "choose one of: openai/gpt-6.1-sol",
        ),
        typed(
            ["ask", "-m", "opnai:gpt-6", "Why?"],
            2,
            "no provider is called `opnai`",
            "did you mean `openai:gpt-6`?",
        ),
        typed(
            ["ask", "-m", "antropic/claude-opus-5.5", "Why?"],
            2,
            "no vendor is called `antropic`",
            "did you mean `anthropic/claude-opus-5.5`?",
        ),
        typed(["ask", "-m", "opus, gpt-sol", "Why?"], 2, "`-m` takes one model", "`-m opus -m gpt-sol`"),
        typed(["ask", "-m", "opus gpt-sol", "Why?"], 2, "`-m` takes one model", "`-m opus -m gpt-sol`"),
        typed(["ask", "Why?"], 2, "the model `opuss` is unknown", "").after(|sandbox| {
            sandbox.write(CONFIG, "panel = ['opuss']\n");
        }),
        typed(["ask", "-m", "", "Why?"], 2, "cannot read the model ``", "write it as `vendor/model`"),
        typed(
            ["ask", "-m", "x-ai/grok-4.7@temprature=1", "Why?"],
            2,
            "there is no option `temprature`",
            "did you mean `temperature`?",
        ),
        typed(
            ["ask", "-m", "x-ai/grok-4.7*65", "Why?"],
            2,
            "the number after `*` is between 1 and 64",
            "write it like `x-ai/grok-4.7*3`",
        ),
        typed(
            ["ask", "-m", "x-ai/grok-4.7*40", "-m", "openai/gpt-6.1-sol*40", "Why?"],
            2,
            "the panel has more than 64 seats",
            "name between 1 and 64 models",
        ),
        typed(
            ["ask", "--synthesizer", "gogle/gemini-4-argon", "-m", ONE, "Why?"],
            2,
            "no vendor is called `gogle`",
            "did you mean `google/gemini-4-argon`?",
        ),
    ]);
}

#[test]
fn strategies_presets_and_other_names() {
    check([
        typed(
            ["ask", "--strategy", "votes", "Why?"],
            2,
            "there is no strategy `votes`",
            "did you mean `vote`?",
        ),
        typed(["strategies", "votes"], 2, "there is no strategy `votes`", "did you mean `vote`?"),
        typed(
            ["ask", "--strategy", "vote@gate=off", "Why?"],
            2,
            "the strategy `vote` has no option `gate`",
            "choose one of: first, weights",
        ),
        typed(
            ["ask", "--strategy", "synthesize@analysis=seperate", "Why?"],
            2,
            "the option `analysis` cannot be `seperate`",
            "did you mean `separate`?",
        ),
        typed(
            ["ask", "--preset", "qiuck", "Why?"],
            2,
            "there is no preset or flow `qiuck`",
            "did you mean `quick`?",
        ),
        typed(["presets", "cheap"], 2, "there is no preset or flow `cheap`", "choose one of: budget"),
        typed(
            ["models", "--provider", "mistrl"],
            2,
            "there is no provider `mistrl`",
            "did you mean `mistral`?",
        ),
        typed(["ask", "--effort", "hihg", "Why?"], 2, "`max`, not `hihg`", "did you mean `high`?"),
        typed(
            ["explain", "rate_limted"],
            2,
            "there is no error code `rate_limted`",
            "did you mean `rate_limited`?",
        ),
        typed(["explain", "429"], 2, "there is no error code `429`", "`rate_limited`"),
        typed(["explain", "503"], 2, "there is no error code `503`", "`upstream`"),
        typed(["install", "cursro"], 2, "`CLIENT` cannot be `cursro`", "did you mean `cursor`?"),
        typed(
            ["install", "cursor", "--yes", "--env", "OPENROUTR_API_KEY"],
            2,
            "no provider reads the variable `OPENROUTR_API_KEY`",
            "did you mean `OPENROUTER_API_KEY`?",
        ),
    ]);
}

#[test]
fn amounts_times_and_counts() {
    check([
        typed(
            ["ask", "--budget", "0", "-m", ONE, "Why?"],
            5,
            "the budget is $0.00",
            "allow it with `--budget 0.1`",
        ),
        typed(["ask", "--budget", "-1", "Why?"], 2, "US dollars such as 0.50, not `-1`", "ask --help"),
        typed(["ask", "--budget", "NaN", "Why?"], 2, "US dollars such as 0.50, not `NaN`", "ask --help"),
        typed(["ask", "--budget", "1,50", "Why?"], 2, "not `1,50`", "write it like `--budget 1.50`"),
        typed(["ask", "--budget", "$3", "Why?"], 2, "not `$3`", "write it like `--budget 3`"),
        typed(["ask", "--budget", "1usd", "Why?"], 2, "not `1usd`", "write it like `--budget 1`"),
        typed(["ask", "--budget", "2.5 dollars", "Why?"], 2, "not `2.5 dollars`", "`--budget 2.5`"),
        typed(["ask", "--max-tokens", "4k", "Why?"], 2, "not `4k`", "write it like `--max-tokens 4000`"),
        typed(["ask", "--max-tokens", "4,096", "Why?"], 2, "not `4,096`", "`--max-tokens 4096`"),
        typed(["ask", "--max-tokens", "-5", "Why?"], 2, "from 1 to 1000000, not `-5`", "ask --help"),
        typed(["ask", "--max-tokens", "many", "Why?"], 2, "from 1 to 1000000, not `many`", "ask --help"),
        typed(["ask", "--temperature", "3", "Why?"], 2, "a number from 0 to 2, not `3`", "ask --help"),
        typed(
            ["ask", "--deadline", "0s", "Why?"],
            2,
            "`--deadline 0s` is not a duration",
            "write it like `90s`",
        ),
        typed(
            ["ask", "--deadline", "90", "Why?"],
            2,
            "`--deadline 90` is not a duration",
            "write it like `90s`",
        ),
        typed(
            ["ask", "--cache", "today", "Why?"],
            2,
            "`--cache today` is not a duration",
            "write it like `90s`",
        ),
        typed(["ask", "--wait", "quorum", "-m", ONE, "Why?"], 2, "`quorum:K`", "write it like `quorum:3`"),
        typed(
            ["ask", "--wait", "quorum:9", "-m", ONE, "Why?"],
            2,
            "`quorum:9` wants more answers than a panel of 1 can give",
            "give `--wait` as `quorum:1` or less",
        ),
        typed(["runs", "cost", "--since", "yesterday"], 2, "a time ago such as 7d", "`--since 1d`"),
        typed(["runs", "show", "@", "--seat", "300"], 2, "from 0 to 255, not `300`", "runs show --help"),
        typed(
            ["ask", "--idempotency-key", "", "Why?"],
            2,
            "an idempotency key has 1 to 255 bytes",
            "such as `ticket-4711`",
        ),
    ]);
}

#[test]
fn prompts_and_files() {
    check([
        typed(["ask", " "], 2, "the prompt is empty", "give a prompt as an argument, as `@file` or on stdin"),
        typed(["ask"], 2, "the prompt is empty", "on stdin").with(|_, call| call.under("exec <&-")),
        typed(
            ["ask", "@nope.md"],
            2,
            "the prompt file `nope.md` cannot be read",
            "name a readable file after `@`",
        ),
        typed(["ask", "@."], 2, "no file to attach was found for the folder `.`", "name other files"),
        typed(
            ["ask", "-a", "nope.png", "Why?"],
            2,
            "the attachment `nope.png` cannot be read",
            "name a file",
        ),
        typed(["ask", "-a", "*.rs", "Why?"], 2, "for the pattern `*.rs`", "name other files"),
        typed(["ask", "@latin.txt"], 2, "`latin.txt` is not UTF-8: the byte at offset 3", "iconv -f latin1")
            .after(|sandbox| drop(sandbox.write("latin.txt", b"caf\xe9"))),
        typed(["ask"], 2, "stdin is not UTF-8", "iconv -f latin1").with(|_, call| call.stdin(*b"caf\xe9")),
        typed(["ask", "-a", "tool.bin", "Why?"], 2, "`tool.bin`", "attach text, PNG")
            .after(|sandbox| drop(sandbox.write("tool.bin", b"\x7fELF\xff\xfe\0\0"))),
        typed(["ask", "@long.txt"], 2, "the limit is 100000", "raise the setting `prompt_chars_max`")
            .after(|sandbox| drop(sandbox.write("long.txt", "word ".repeat(30_000)))),
        typed(["ask", "-a", ".env", "Why?"], 2, "the attachment `.env` is not sent", "`--allow-secret-file`")
            .after(|sandbox| drop(sandbox.write(".env", "PASSWORD=hunter2-hunter2\n"))),
        typed(["ask", "-t", "reveiw", "Why?"], 2, "there is no template `reveiw`", "did you mean `review`?")
            .after(|sandbox| drop(sandbox.write(TEMPLATE, "Review: {{input}}"))),
        typed(["ask", "-t", "review", "Why?"], 2, "templates/review.md` is missing", "write the file"),
        typed(
            ["ask", "-t", "review", "Why?"],
            2,
            "has the place `{{inptu}}`, which nothing fills",
            "`{{input}}`",
        )
        .after(|sandbox| drop(sandbox.write(TEMPLATE, "Review: {{inptu}}"))),
        typed(
            ["ask", "-o", "nope/answer.md", "Why?"],
            7,
            "the file `nope/answer.md` cannot be written",
            "name a file",
        ),
        typed(["ask", "-o", ".", "Why?"], 7, "Is a directory", "name a file in a folder you may write"),
        typed(["store", "restore", "nope.db"], 2, "`nope.db` is no backup", "-mcp store backup`"),
    ]);
}

#[test]
fn keys_and_addresses() {
    check([
        typed(["ask", "Why?"], 4, "no API key is set for `openrouter`", "set `OPENROUTER_API_KEY`")
            .with(|_, call| call.without("OPENROUTER_API_KEY")),
        typed(
            ["ask", "-m", "mistral:mistral-large", "Why?"],
            4,
            "no API key is set for `mistral`",
            "-mcp keys set mistral`",
        ),
        typed(["ask", "Why?"], 4, "the API key holds white space", "copy the key of `openrouter` again")
            .with(|_, call| call.env("OPENROUTER_API_KEY", "sk-or-v1-0123\n456789")),
        typed(
            ["ask", "-q", "-m", ONE, "Why?"],
            4,
            "openrouter refused the key (401)",
            "correct it in `OPENROUTER_API_KEY`",
        )
        .with(|_, call| call.env("OPENROUTER_API_KEY", "sk-or-v1-of-somebody-else"))
        .asking(),
        typed(
            ["keys", "set", "openroutr"],
            2,
            "there is no provider `openroutr`",
            "did you mean `openrouter`?",
        ),
        typed(["keys", "set", "openrouter"], 4, "the API key holds white space", "copy the key again")
            .with(|_, call| call.stdin("my key")),
        typed(["keys", "revoke", "nobody", "--yes"], 2, "there is no token `nobody`", "-mcp keys list`"),
        typed(
            ["keys", "create", "My Laptop"],
            2,
            "`My Laptop` cannot be the name of a token",
            "such as `laptop-2`",
        ),
        typed(
            ["ask", "Why?"],
            2,
            "the base URL of `openrouter` does not begin with `https://` or `http://` (`OPENROUTER_BASE_URL`)",
            "`https://openrouter.ai/api/v1`",
        )
        .with(|_, call| call.env("OPENROUTER_BASE_URL", "openrouter.ai/api/v1")),
        typed(["ask", "Why?"], 2, "uses plain http to `example.com`", "use https")
            .with(|_, call| call.env("OPENROUTER_BASE_URL", "http://example.com/v1")),
        typed(
            ["ask", "-q", "-m", ONE, "Why?"],
            1,
            "cannot be reached: Connection refused",
            "check the network and the base URL",
        )
        .with(|_, call| {
            call.env("OPENROUTER_BASE_URL", "http://127.0.0.1:9/v1").settings([("retries_max", "0")])
        }),
        typed(
            ["serve", "--http", "localhost"],
            2,
            "an IP address with a port, such as 127.0.0.1:8930",
            "serve --help",
        ),
        typed(["serve", "--http", "0.0.0.0:0"], 2, "can be reached from other machines", "--tls-cert FILE"),
        typed(["simulate", "--port"], 2, "cannot be used: Address already in use", "`--port 0`")
            .with(|sandbox, call| call.arg(&sandbox.simulator().address().port().to_string())),
        typed(
            ["install", "cursor", "--http", "nowhere"],
            2,
            "has no scheme",
            "write it like `https://nowhere/mcp`",
        ),
    ]);
}

#[test]
fn providers_that_refuse() {
    fn refuses(sandbox: &Sandbox, fault: Fault) {
        sandbox.simulator().script(ONE, Script::fault(fault));
    }
    let ask = ["ask", "-q", "-m", ONE, "--deadline", "20s", "Why?"];
    check([
        typed(ask, 4, "requires more credits", "add credit at the provider")
            .after(|sandbox| refuses(sandbox, Fault::Credits))
            .asking(),
        typed(ask, 1, "is not a valid model ID", "`parallel-llm-mcp models`")
            .after(|sandbox| refuses(sandbox, Fault::BadModel))
            .asking(),
        typed(ask, 1, "openrouter answered 422: Invalid argument", "read the provider's message")
            .after(|sandbox| refuses(sandbox, Fault::Invalid422))
            .asking(),
        typed(
            ["ask", "-q", "-m", ONE, "--deadline", "300ms", "Why?"],
            6,
            "the time limit of 0.3 s was reached",
            "raise `--deadline`",
        )
        .after(|sandbox| refuses(sandbox, Fault::AcceptNoReply))
        .asking(),
    ]);
}

#[test]
fn settings() {
    fn config(sandbox: &Sandbox, text: &str) {
        sandbox.write(CONFIG, text);
    }
    check([
        typed(["ask", "Why?"], 2, "config.toml:2:1: there is no setting `pannel`", "did you mean `panel`?")
            .after(|sandbox| config(sandbox, "max_tokens = 100\npannel = ['a/b']\n")),
        typed(["ask", "Why?"], 2, "config.toml:2:1: duplicate key", "correct the value at the place")
            .after(|sandbox| config(sandbox, "max_tokens = 100\nmax_tokens = 200\n")),
        typed(
            ["ask", "Why?"],
            2,
            "`max_tokens` is a whole number from 1 to 1000000, not a string",
            "correct the value",
        )
        .after(|sandbox| config(sandbox, "max_tokens = 'many'\n")),
        typed(["models"], 2, "config.toml:1:10: unclosed array", "correct the value at the place")
            .after(|sandbox| config(sandbox, "panel = [\n")),
        typed(["presets"], 2, "config.toml:2:1: there is no setting `pannel`", "did you mean `panel`?")
            .after(|sandbox| config(sandbox, "[presets.mine]\npannel = ['a/b']\n")),
        typed(["ask", "Why?"], 2, "a key is never read from this file", "-mcp keys set openrouter`")
            .after(|sandbox| config(sandbox, "[providers.openrouter]\nkey = 'sk-or-v1-0123'\n")),
        typed(["ask", "Why?"], 2, "the base URL of `team` does not begin with `https://`", "write it like")
            .after(|sandbox| config(sandbox, "[providers.team]\nbase_url = 'example.com'\n")),
        typed(
            ["ask", "Why?"],
            2,
            "PARALLEL_LLM_PANNEL: there is no such setting",
            "did you mean `PARALLEL_LLM_PANEL`?",
        )
        .with(|_, call| call.settings([("pannel", "a/b")])),
        typed(["ask", "Why?"], 2, "`log_level` is one of `off`, `error`", "did you mean `debug`?")
            .with(|_, call| call.settings([("log_level", "debgu")])),
        typed(["ask", "Why?"], 2, "there is no file", "write the file, or unset `PARALLEL_LLM_CONFIG`")
            .with(|_, call| call.env("PARALLEL_LLM_CONFIG", "gone.toml")),
        typed(["ask", "--check", "grep -q X | cat", "Why?"], 2, "is run without a shell", "sh -c"),
        typed(
            ["ask", "--strategy", "best-of-n@by=check", "--check", "no-such-program", "Why?"],
            2,
            "the check command `no-such-program` is not there",
            "`--check`",
        ),
    ]);
}

#[test]
fn runs_and_their_database() {
    check([
        typed(["runs", "show", "@"], 2, "there are no runs yet", "ask something first"),
        typed(
            ["runs", "show", "@"],
            2,
            "there are no runs yet",
            "type `parallel-llm-mcp runs show @ --demo`",
        )
        .after(|sandbox| assert_eq!(sandbox.call(["demo"]).run().code, Some(0))),
        typed(["ask", "-c", "And?"], 2, "there are no runs yet", "ask something first"),
        typed(["runs", "show", "01ZZZ"], 2, "no run has an id that begins with `01ZZZ`", "-mcp runs list`"),
        typed(
            ["runs", "show", "0"],
            2,
            "more than one run has an id that begins with `0`",
            "give more of the id",
        )
        .after(|sandbox| (0..2).for_each(|_| ask_anew(sandbox))),
        typed(["runs", "show", "@~99"], 2, "there is no run `@~99`: fewer runs are kept", "-mcp runs list`")
            .after(ask_once),
        typed(["runs", "show", "@~x"], 2, "`@~x` is no name of a run: `@` is the newest", "-mcp runs list`"),
        typed(["runs", "show", "@", "--seat", "9"], 2, "the run has no seat 9; it has 1", "-mcp runs show`")
            .after(ask_once),
        typed(["runs", "resume", "@"], 2, "there is nothing to resume", "-mcp runs add`").after(ask_once),
        typed(
            ["ask", "-q", "--idempotency-key", "k", "-m", ONE, "How?"],
            2,
            "another question was asked",
            "a key of its own",
        )
        .after(|sandbox| {
            let first = sandbox.call(["ask", "-q", "--idempotency-key", "k", "-m", ONE, "Why?"]).run();
            assert_eq!(first.code, Some(0), "{}", first.stderr);
        }),
        typed(
            ["ask", "-m", ONE, "Why?"],
            7,
            "it is not a database, and was not changed",
            "move the file away",
        )
        .after(|sandbox| drop(sandbox.write(".local/share/parallel-llm-mcp/runs.db", "notes ".repeat(100)))),
        typed(
            ["ask", "-m", ONE, "Why?"],
            7,
            "a newer version of this program wrote",
            "use the newer program",
        )
        .after(|sandbox| {
            ask_once(sandbox);
            OutsideConnection::new(&database::path(sandbox)).execute("PRAGMA user_version = 999");
        }),
        typed(["ask", "-m", ONE, "Why?"], 7, "cannot be written: Not a directory", "PARALLEL_LLM_DATA_DIR")
            .with(|sandbox, call| {
                let file = sandbox.write("file", "");
                call.settings([("data_dir", file.to_str().unwrap())])
            }),
        typed(
            ["store", "backup", "nope/runs.db"],
            7,
            "nope/runs.db` cannot be written",
            "in a folder you may write",
        )
        .after(ask_once),
    ]);
}

fn ask_anew(sandbox: &Sandbox) {
    let output = sandbox.call(["ask", "-q", "--fresh", "-m", ONE, "Why?"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// The mistake of typing this, which ends with 2 and names what to type.
pub(crate) fn named<const N: usize>(
    words: [&'static str; N],
    wrong: &'static str,
    next: &'static str,
) -> Mistake {
    typed(words, 2, wrong, next)
}

#[test]
fn words_of_other_programs_are_told_what_they_are_called_here() {
    check([
        named(
            ["config", "set", "panel", "a/b"],
            "no command changes settings",
            "set `panel` in your own file or as `PARALLEL_LLM_PANEL`",
        ),
        named(["config", "edit"], "no command changes settings", "see `parallel-llm-mcp config show`"),
        named(["config", "get", "panel"], "has no command `get`", "type `parallel-llm-mcp config show`"),
        named(["runs", "delete", "@"], "has no command `delete`", "type `parallel-llm-mcp runs purge @`"),
        named(["runs", "delete"], "has no command `delete`", "runs purge --older-than 90d"),
        named(["runs", "rm", "@"], "has no command `rm`", "type `parallel-llm-mcp runs purge @`"),
        named(["runs", "get", "@~1"], "has no command `get`", "type `parallel-llm-mcp runs show @~1`"),
        named(["runs", "last"], "has no command `last`", "type `parallel-llm-mcp runs show @`"),
        named(["runs", "retry", "@"], "has no command `retry`", "type `parallel-llm-mcp runs resume @`"),
        named(
            ["runs", "grep", "tides"],
            "has no command `grep`",
            "type `parallel-llm-mcp runs search tides`",
        ),
        named(["runs", "ls"], "has no command `ls`", "type `parallel-llm-mcp runs list`"),
        named(["runs", "tail"], "has no command `tail`", "type `parallel-llm-mcp runs wait @`"),
        named(["runs", "usage"], "has no command `usage`", "type `parallel-llm-mcp runs cost`"),
        named(["keys", "add", "mistral"], "has no command `add`", "type `parallel-llm-mcp keys set mistral`"),
        named(["keys", "show"], "has no command `show`", "type `parallel-llm-mcp keys list`"),
        named(
            ["keys", "delete", "groq"],
            "has no command `delete`",
            "type `parallel-llm-mcp keys remove groq`",
        ),
        named(["keys", "generate"], "has no command `generate`", "type `parallel-llm-mcp keys create NAME`"),
        named(
            ["batch", "run", "q.jsonl"],
            "has no command `run`",
            "type `parallel-llm-mcp batch submit q.jsonl`",
        ),
        named(["batch", "stop"], "has no command `stop`", "type `parallel-llm-mcp batch cancel`"),
        named(["batch", "output"], "has no command `output`", "type `parallel-llm-mcp batch results`"),
        named(["store", "dump"], "has no command `dump`", "type `parallel-llm-mcp store backup FILE`"),
        named(["store", "vacuum"], "has no command `vacuum`", "runs purge --older-than 90d"),
        named(["flow", "run", "review"], "has no command `run`", "ask --preset review \"QUESTION\""),
        named(["history"], "there is no command `history`", "type `parallel-llm-mcp runs list`"),
        named(["version"], "there is no command `version`", "type `parallel-llm-mcp --version`"),
        named(["chat"], "there is no command `chat`", "ask \"QUESTION\""),
        named(["login"], "there is no command `login`", "type `parallel-llm-mcp keys set openrouter`"),
        named(["web"], "there is no command `web`", "type `parallel-llm-mcp serve --http 127.0.0.1:8930`"),
        named(
            ["presets", "show", "quick"],
            "takes no further argument",
            "type `parallel-llm-mcp presets quick`",
        ),
        named(["doctor", "fix"], "takes no further argument", "type `parallel-llm-mcp doctor`"),
    ]);
}

#[test]
fn flags_of_other_programs_are_told_what_they_are_called_here() {
    check([
        named(
            ["ask", "--timeout", "60", "Why?"],
            "there is no flag `--timeout`",
            "write it like `--deadline 60s`",
        ),
        named(["ask", "--file", "x", "Why?"], "there is no flag `--file`", "write it like `--attach x`"),
        named(["ask", "-f", "x", "Why?"], "there is no flag `-f`", "--attach"),
        named(["ask", "--format", "json", "Why?"], "there is no flag `--format`", "write it like `--json`"),
        named(["ask", "-n", "3", "Why?"], "there is no flag `-n`", "-m 'MODEL*3'"),
        named(["ask", "--verbose", "Why?"], "there is no flag `--verbose`", "--progress plain"),
        named(["ask", "--stream", "Why?"], "there is no flag `--stream`", "--jsonl --deltas"),
        named(["ask", "--panel", "a/b", "Why?"], "there is no flag `--panel`", "-m a/b"),
        named(["ask", "--models", "a,b", "Why?"], "there is no flag `--models`", "-m a -m b"),
        named(["ask", "--judge", "a/b", "Why?"], "there is no flag `--judge`", "--synthesizer a/b"),
        named(["ask", "-s", "vote", "Why?"], "there is no flag `-s`", "--strategy vote"),
        named(["ask", "--no-synthesis", "Why?"], "there is no flag `--no-synthesis`", "--strategy panel"),
        named(["ask", "--max-cost", "1", "Why?"], "there is no flag `--max-cost`", "--budget 1`"),
        named(["ask", "--reasoning", "Why?"], "there is no flag `--reasoning`", "--effort high"),
        named(["ask", "--resume", "Why?"], "there is no flag `--resume`", "--continue RUN"),
        named(["ask", "--out", "x.md", "Why?"], "there is no flag `--out`", "--output x.md`"),
        named(["ask", "--private", "Why?"], "there is no flag `--private`", "--store none --no-files"),
        named(["serve", "--port", "8080"], "there is no flag `--port`", "serve --http 127.0.0.1:8080"),
        named(["serve", "--host", "0.0.0.0"], "there is no flag `--host`", "serve --http 127.0.0.1:8930"),
        named(["serve", "9000"], "`TRANSPORT` cannot be `9000`", "serve --http 127.0.0.1:9000"),
        named(["serve", "http"], "`TRANSPORT` cannot be `http`", "serve --http 127.0.0.1:8930"),
        named(["-v"], "there is no flag `-v`", "type `parallel-llm-mcp --version`"),
        named(["--strategy", "vote"], "`--strategy` is a flag of `ask`", "ask --strategy vote"),
        named(["worker", "--threads", "3"], "there is no flag `--threads`", "--concurrency 3"),
    ]);
}

#[test]
fn what_begins_with_a_hyphen_is_told_how_to_write_it() {
    check([
        named(["ask", "-V", "Why?"], "there is no flag `-V`", "type `parallel-llm-mcp --version`"),
        named(["runs", "list", "--version"], "there is no flag `--version`", "parallel-llm-mcp --version"),
        named(["ask", "--api-key", "x", "Why?"], "there is no flag `--api-key`", "keys set openrouter"),
        named(["ask", "-b", "Why?"], "there is no flag `-b`", "see `parallel-llm-mcp ask --help`"),
        named(["ask", "--deadline", "-s", "Why?"], "is no flag", "write it like `--deadline=-s`"),
        named(["ask", "--cache", "-x1h", "Why?"], "is no flag", "write it like `--cache=-x1h`"),
        named(["ask", "-a", "-dash.txt", "Why?"], "is no flag", "write it like `-a ./-dash.txt`"),
        named(["ask", "-m", ONE, "-vast deserts: why?"], "is no flag", "-- \"-vast deserts: why?\"`"),
        named(["ask", "-s", "Be short", "Why?"], "there is no flag `-s`", "`--system \"Be short\"`"),
        named(
            ["runs", "purge", "--all"],
            "there is no flag `--all`",
            "see `parallel-llm-mcp runs purge --help`",
        ),
        named(
            ["runs", "show", "--last"],
            "there is no flag `--last`",
            "see `parallel-llm-mcp runs show --help`",
        ),
        named(["runs", "list", "--last", "5"], "there is no flag `--last`", "write it like `--limit 5`"),
        named(["batch", "delete"], "has no command `delete`", "batch remove BATCH --yes"),
        named(["runs", "add", "-m", ONE], "`RUN` is missing", "runs add -m x-ai/grok-4.7 @`"),
        typed(["doctor", "--bundle", "there.txt"], 7, "", "name another with `--bundle`")
            .after(|sandbox| drop(sandbox.write("there.txt", ""))),
    ]);
}

#[test]
fn what_is_missing_is_named_with_a_call_that_has_it() {
    check([
        named(
            ["serve", "--no-auth"],
            "`--no-auth` works only with `--http`",
            "serve --http 127.0.0.1:8930 --no-auth",
        ),
        named(["completions"], "`SHELL` is missing", "type `parallel-llm-mcp completions bash`"),
        named(["runs", "resume"], "`RUN` is missing", "type `parallel-llm-mcp runs resume @`"),
        named(["runs", "add"], "`--model` and `RUN` are missing", "runs add --help"),
        named(["keys", "list", "extra"], "takes no further argument", "type `parallel-llm-mcp keys list`"),
        named(["keys", "set"], "`PROVIDER` is missing", "type `parallel-llm-mcp keys set openrouter`"),
        named(["batch", "submit"], "`FILE` is missing", "type `parallel-llm-mcp batch submit FILE`"),
        named(["batch", "q.jsonl"], "`q.jsonl` is a file", "type `parallel-llm-mcp batch submit q.jsonl`")
            .after(|sandbox| drop(sandbox.write("q.jsonl", "{}"))),
        named(["batch", "submit", "q.txt"], "line 1: it is not a JSON object", "{\"prompt\": \"Why?\"}")
            .after(|sandbox| drop(sandbox.write("q.txt", "What is 1?\nWhat is 2?\n"))),
        named(["batch", "submit", "/dev/zero"], "is a device", "batch submit questions.jsonl"),
        named(
            ["ask", "-m", "a/b*0", "Why?"],
            "the number after `*` is between 1 and 64",
            "write it like `a/b*3`",
        ),
    ]);
}

#[test]
fn files_that_cannot_be_sent_as_they_are() {
    check([
        named(["ask", "-a", "nope/*.rs", "Why?"], "there is no folder `nope/`", "name a folder that exists"),
        named(["ask", "@nope/*.rs"], "there is no folder `nope/`", "name a folder that exists"),
        named(["ask", "-a", "latin.txt", "Why?"], "text in another encoding than UTF-8", "iconv -f latin1")
            .after(|sandbox| drop(sandbox.write("latin.txt", b"caf\xe9 au lait"))),
        named(["ask", "@latin.txt"], "is not UTF-8", "iconv -f latin1")
            .after(|sandbox| drop(sandbox.write("latin.txt", b"caf\xe9 au lait"))),
        named(["ask", "-a", "fake.png", "Why?"], "a damaged PNG picture", "attach text, PNG")
            .after(|sandbox| drop(sandbox.write("fake.png", b"\x89PNG\r\n\x1a\n123456789"))),
        named(
            ["ask", "-a", "https://a.example/x.png", "Why?"],
            "is an address, and nothing is fetched",
            "curl -LO",
        ),
        named(["ask", "@http://a.example/notes"], "is an address, and nothing is fetched", "curl -LO"),
        named(["ask", "-t", "review", "Why?"], "is no file", "write the file").after(|sandbox| {
            sandbox.write(".config/parallel-llm-mcp/templates/other.md", "");
            fifo(sandbox, TEMPLATE);
        }),
    ]);
}

#[test]
fn keys_that_are_hardly_meant() {
    check([
        named(["keys", "set", "openrouter"], "what was given is no key", "keys set openrouter --force")
            .with(|_, call| call.stdin("nonsense")),
        named(["keys", "set", "anthropic"], "is a key of `openrouter`", "keys set openrouter")
            .with(|_, call| call.stdin("sk-or-v1-0123456789")),
        named(["keys", "set", "openrouter"], "is a key of `anthropic`", "keys set anthropic")
            .with(|_, call| call.stdin("sk-ant-api03-0123456789")),
        named(["keys", "set", "openai"], "a token of GitHub", "keys set openai --force")
            .with(|_, call| call.stdin("ghp_0123456789")),
    ]);
    let sandbox = sandbox();
    let insisted = sandbox.call(["keys", "set", "openrouter", "--force"]).stdin("nonsense").run();
    assert_eq!(insisted.code, Some(0), "{}", insisted.stderr);
}

#[test]
fn a_server_of_models_that_is_not_running_is_tried_once() {
    let sandbox = sandbox();
    let variable = ("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1");
    let output = sandbox.call(["ask", "-m", "ollama:llama3", "Why?"]).env(variable.0, variable.1).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("ollama is not running at 127.0.0.1:9"), "{}", output.stderr);
    assert!(output.stderr.contains("`ollama serve`"), "{}", output.stderr);
    assert!(!output.stderr.contains("asked again"), "{}", output.stderr);
}

/// Makes a pipe that nobody writes to.
fn fifo(sandbox: &Sandbox, name: &str) {
    let made = std::process::Command::new("mkfifo").arg(sandbox.home().join(name)).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
}

#[test]
fn nothing_is_waited_for_in_silence() {
    let sandbox = sandbox();
    fifo(&sandbox, "pipe");
    fifo(&sandbox, "lines");
    let folder = sandbox.data_dir();
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    fifo(&sandbox, ".local/share/parallel-llm-mcp/01ZZZZZZZZZZZZZZZZZZZZZZZZ-1.spill");
    let asking = sandbox.call(["ask", "-m", ONE, "@pipe"]).on_screen(160, 24);
    let submitting = sandbox.call(["batch", "submit", "lines"]).on_screen(160, 24);
    // Files of this kind are taken in when the database is opened.
    let listed = sandbox.call(["runs", "list"]).run();
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    for terminal in [asking, submitting] {
        terminal.until("the wait is announced", |text| text.contains("is read until it ends"));
    }
}

#[test]
fn a_reader_that_leaves_is_no_mistake() {
    let sandbox = sandbox();
    let output = sandbox.call(["generate", "cli"]).closes_stdout().run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}
