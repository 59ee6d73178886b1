//! Completion scripts and manual pages, which packages install.

use std::process::{Command, Stdio};

use parallel_llm_testkit::Sandbox;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// Whether this machine has the program.
fn has(program: &str) -> bool {
    let mut call = Command::new(program);
    call.arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn every_shell_gets_a_script_it_can_read() {
    /// PowerShell reads a script without running it.
    const POWERSHELL: &str = "$tokens = $null; $errors = $null; \
        [void][System.Management.Automation.Language.Parser]::ParseFile($args[0], [ref]$tokens, [ref]$errors); \
        if ($errors) { $errors; exit 1 }";
    let shells: [(&str, &str, &[&str]); 4] = [
        ("bash", "bash", &["-n"]),
        ("zsh", "zsh", &["-n"]),
        ("fish", "fish", &["--no-execute"]),
        ("powershell", "pwsh", &["-NoProfile", "-CommandWithArgs", POWERSHELL]),
    ];
    for (shell, program, check) in shells {
        let sandbox = sandbox();
        let output = sandbox.call(["completions", shell]).run();
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(output.text().contains("strategies"), "{shell}: {}", output.text());
        assert!(!output.text().contains("generate"), "{shell} offers a hidden command: {}", output.text());
        let script = sandbox.write("script.ps1", output.text());
        if has(program) {
            let checked = Command::new(program).args(check).arg(&script).output().expect("the shell runs");
            assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
        } else {
            println!("skipped: the script for {shell} is not checked, because there is no `{program}` here");
        }
    }
}

#[test]
fn bash_completes_commands_and_flags() {
    let sandbox = sandbox();
    let script = sandbox.write("script", sandbox.call(["completions", "bash"]).run().text());
    let completed = |words: &str, index: usize| {
        let line = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={index}; _parallel__llm__mcp parallel-llm-mcp \
             \"${{COMP_WORDS[{index}]}}\" \"\"; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(completed("parallel-llm-mcp str", 1), "strategies");
    assert_eq!(completed("parallel-llm-mcp runs sy", 2), "synthesize");
    assert_eq!(completed("parallel-llm-mcp ask --syn", 2), "--synthesizer");
    assert_eq!(completed("parallel-llm-mcp m", 1), "models", "`man` is hidden");
}

/// The most bytes of a script: a shell reads it at each start.
const SCRIPT_BYTES_MAX: usize = 16 * 1024;

#[test]
fn bash_completes_values_of_this_machine() {
    let sandbox = sandbox();
    sandbox
        .write(".config/parallel-llm-mcp/config.toml", "[presets.mine]\npanel = ['a/b', 'c/$(>hacked)']\n");
    let run = sandbox.call(["ask", "--json", "-m", "x-ai/grok-4.7", "Why?"]).run().json();
    let run = run["run_id"].as_str().expect("a run has an id").to_owned();
    let script = sandbox.call(["completions", "bash"]).run().text().to_owned();
    assert!(script.len() <= SCRIPT_BYTES_MAX, "{} bytes", script.len());
    let script = sandbox.write("script", &script);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let folder = program.parent().expect("a program is in a folder").display();
    let completed = |words: &str| {
        let index = words.split(' ').count() - 1;
        let line = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={index}; _parallel__llm__mcp; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let call = Command::new("bash")
            .args(["-c", &line])
            .env_clear()
            .env("PATH", format!("{folder}:/usr/bin:/bin"))
            .env("HOME", sandbox.home())
            .current_dir(sandbox.home())
            .output();
        String::from_utf8_lossy(&call.expect("bash runs").stdout).trim().to_owned()
    };
    assert_eq!(completed("parallel-llm-mcp ask --preset m"), "max mine");
    assert_eq!(completed("parallel-llm-mcp ask -m openai/gpt-sol"), "openai/gpt-sol-latest");
    assert_eq!(completed("parallel-llm-mcp ask --strategy vo"), "vote");
    assert_eq!(completed("parallel-llm-mcp ask --progress ra"), "rawjson");
    assert_eq!(completed("parallel-llm-mcp strategies casc"), "cascade");
    assert_eq!(completed(&format!("parallel-llm-mcp runs show {}", &run[..10])), run);
    assert_eq!(completed("parallel-llm-mcp keys set mist"), "mistral");
    assert_eq!(completed("parallel-llm-mcp explain rate"), "rate_limited");
    assert_eq!(completed("parallel-llm-mcp completions f"), "fish");
    assert_eq!(completed("parallel-llm-mcp ask --budget x"), "", "its value is a number");
    assert!(!sandbox.home().join("hacked").exists(), "no name is run");
    let words = |words: &[&str]| {
        let call = sandbox.call(["complete", "words", "--", "parallel-llm-mcp"]).args(words);
        call.run().text().trim().replace('\n', " ")
    };
    assert_eq!(words(&["runs", "sy"]), "synthesize");
    assert_eq!(words(&["ask", "--preset", "q"]), "quick");
    assert_eq!(words(&["ask", "--syn"]), "--synthesizer");
    assert_eq!(words(&["runs", "show", &run[..10]]), run);
}

#[test]
fn settings_that_do_not_load_are_in_nobodys_way() {
    let sandbox = sandbox();
    sandbox.write(".config/parallel-llm-mcp/config.toml", "panel = [\n");
    let folder = sandbox.home().join("man1");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let folder = folder.to_str().unwrap();
    for call in
        [["completions", "bash"], ["man", folder], ["explain", "settings_invalid"], ["generate", "cli"]]
    {
        let output = sandbox.call(call).run();
        assert_eq!(output.code, Some(0), "{call:?}: {}", output.stderr);
    }
    assert_eq!(sandbox.call(["config", "show"]).run().code, Some(2));
}

#[test]
fn each_command_has_a_manual_page() {
    let sandbox = sandbox();
    let folder = sandbox.home().join("man1");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let output = sandbox.call(["man", folder.to_str().unwrap()]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for page in ["parallel-llm-mcp.1", "parallel-llm-mcp-ask.1", "parallel-llm-mcp-runs-list.1"] {
        let text = std::fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    let refused = sandbox.call(["man", "nowhere"]).run();
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
}
