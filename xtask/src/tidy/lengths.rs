//! Length limits for files, functions and parameter lists.

use super::Finding;
use super::functions::{Function, functions};
use super::syntax::is_test_file;
use super::tree::{RustFile, Tree};

/// As much as fits on a screen.
const FUNCTION_LINES_MAX: usize = 70;
/// As many as a reader can keep in mind.
pub(super) const PARAMETERS_MAX: usize = 5;
/// A longer file has more than one subject.
const FILE_LINES_MAX: usize = 600;
/// A test file has many small cases, which are read one at a time.
const TEST_FILE_LINES_MAX: usize = 900;

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let functions =
        tree.rust.iter().flat_map(|file| functions(file).into_iter().flat_map(|it| long(file, &it)));
    tree.rust.iter().filter_map(long_file).chain(functions).collect()
}

fn long_file(file: &RustFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    let most = if is_test_file(&file.path) { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    (lines > most)
        .then(|| Finding::new(&file.path, 0, format!("{lines} lines; at most {most}: split it by subject")))
}

fn long(file: &RustFile, Function { name, line, lines, parameters, .. }: &Function) -> Vec<Finding> {
    let mut findings = Vec::new();
    if *lines > FUNCTION_LINES_MAX {
        let text = format!("`{name}` has {lines} lines of code; at most {FUNCTION_LINES_MAX}");
        findings.push(Finding::new(&file.path, *line, text));
    }
    if let Some(count) = parameters.filter(|count| *count > PARAMETERS_MAX) {
        let text =
            format!("`{name}` has {count} parameters; at most {PARAMETERS_MAX}: make a struct of them");
        findings.push(Finding::new(&file.path, *line, text));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_long_function_is_found() {
        let body = |lines: usize| format!("fn walk() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
        assert_eq!(found(rule, &[("a.rs", &body(70))]), [""; 0]);
        assert_eq!(found(rule, &[("a.rs", &body(71))]), ["a.rs:1 `walk` has 71 lines of code; at most 70"]);
    }

    #[test]
    fn many_parameters_are_found_except_where_a_trait_fixes_them() {
        let six = "fn f(a: A, b: A, c: A, d: A, e: A, g: A) {}";
        assert_eq!(
            found(rule, &[("a.rs", six)]),
            ["a.rs:1 `f` has 6 parameters; at most 5: make a struct of them"]
        );
        assert_eq!(found(rule, &[("a.rs", &format!("impl T for X {{ {six} }}"))]), [""; 0]);
    }

    #[test]
    fn a_long_file_is_found_and_a_test_file_may_be_longer() {
        let text = "//! x\n".repeat(700);
        let long = "a/src/b.rs:0 700 lines; at most 600: split it by subject";
        assert_eq!(found(rule, &[("a/src/b.rs", &text), ("a/tests/b.rs", &text)]), [long]);
    }
}
