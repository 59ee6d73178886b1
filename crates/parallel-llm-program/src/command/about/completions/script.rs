//! The scripts. That of bash knows commands and flags itself; the others ask the program for everything.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Command;

use super::candidates::{Kind, flags, offered};

/// A shell with completion.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Shell {
    /// Bash.
    Bash,
    /// Elvish.
    Elvish,
    /// Fish.
    Fish,
    /// PowerShell.
    #[value(name = "powershell")]
    Power,
    /// Zsh.
    Zsh,
}

const BASH: &str = r#"_FUNCTION() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= kind= words= word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $at/$word in
        COMMANDS) at=${at:+$at/}$word ;;
        esac
    done
    case $at in
PLACES    esac
    case $prev in
VALUES    esac
    [[ $cur == -* ]] && kind=
    [[ $kind ]] && words+=" $(NAME complete "$kind" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _FUNCTION NAME
"#;

const ZSH: &str = r#"#compdef NAME
# Completes TOP
_FUNCTION() {
    local -a found
    found=("${(@f)$(NAME complete words -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n $found[1] ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [ "$funcstack[1]" = "_FUNCTION" ]; then _FUNCTION "$@"; else compdef _FUNCTION NAME; fi
"#;

const FISH: &str = r"# Completes TOP
function _FUNCTION
    set -l found (NAME complete words -- (commandline -opc) (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c NAME -f -a '(_FUNCTION)'
";

const ELVISH: &str = r"# Completes TOP
set edit:completion:arg-completer[NAME] = {|@words| (external NAME) complete words -- $@words | from-lines }
";

const POWERSHELL: &str = r"# Completes TOP
Register-ArgumentCompleter -Native -CommandName 'NAME' -ScriptBlock {
    param($word, $tree, $position)
    $words = @($tree.CommandElements | ForEach-Object { $_.ToString() })
    if ($word -eq '') { $words += '' }
    & 'NAME' complete words -- @words 2>$null | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_)
    }
}
";

/// The script of a shell for the program of this name.
pub(super) fn of(shell: Shell, name: &str, root: &Command) -> String {
    let script = match shell {
        Shell::Bash => bash(root),
        Shell::Zsh => ZSH.to_owned(),
        Shell::Fish => FISH.to_owned(),
        Shell::Elvish => ELVISH.to_owned(),
        Shell::Power => POWERSHELL.to_owned(),
    };
    let top: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
    let function = name.replace('-', "__");
    script.replace("TOP", &top.join(", ")).replace("FUNCTION", &function).replace("NAME", name)
}

/// The script of bash: what is offered at each place, and which values follow each flag.
fn bash(root: &Command) -> String {
    let mut places = Vec::new();
    collect(root, "", &mut places);
    let commands: Vec<String> =
        places.iter().filter(|(at, _)| !at.is_empty()).map(|(at, _)| at_word(at)).collect();
    let (mut offers, mut values) = (String::new(), String::new());
    let mut flags_by_kind: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, command) in &places {
        let words: Vec<String> = offered(command).collect();
        let positional = command.get_positionals().next().map(Kind::of);
        let kind = match positional {
            Some(Kind::Words(more)) => format!(" words+=' {}'", more.join(" ")),
            Some(kind) => kind.word().map(|word| format!(" kind={word}")).unwrap_or_default(),
            None => String::new(),
        };
        writeln!(offers, "    {at:?}) words='{}'{kind} ;;", words.join(" "))
            .expect("a string can be written");
        for argument in command.get_opts() {
            let does = match Kind::of(argument) {
                Kind::Words(words) => format!("kind= words='{}'", words.join(" ")),
                kind => format!("kind={} words=", kind.word().unwrap_or_default()),
            };
            let of_kind = flags_by_kind.entry(does).or_default();
            of_kind.extend(flags(argument).filter(|flag| !of_kind.contains(flag)).collect::<Vec<_>>());
        }
    }
    for (does, flags) in &flags_by_kind {
        writeln!(values, "    {}) {does} ;;", flags.join("|")).expect("a string can be written");
    }
    BASH.replace("COMMANDS", &commands.join("|")).replace("PLACES", &offers).replace("VALUES", &values)
}

/// A place as the loop over the words finds it: the place above, a slash and the word.
fn at_word(at: &str) -> String {
    if at.contains('/') { at.to_owned() } else { format!("/{at}") }
}

fn collect<'c>(command: &'c Command, at: &str, places: &mut Vec<(String, &'c Command)>) {
    places.push((at.to_owned(), command));
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = below.get_name();
        let place = if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
        collect(below, &place, places);
    }
}
