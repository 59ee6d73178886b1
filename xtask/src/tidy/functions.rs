//! The functions of a file: how long each is and how many parameters it takes.
//!
//! A line counts when it holds code: a comment that explains a long function must not make it longer.

use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, ItemImpl, Signature, TraitItemFn};

use super::tree::RustFile;

/// One function with a body.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    /// Lines with code, from the signature to the closing brace.
    pub(super) lines: usize,
    /// Parameters, `self` among them; none where a trait of somebody else fixes them.
    pub(super) parameters: Option<usize>,
}

/// Every function of the file with a body.
pub(super) fn functions(file: &RustFile) -> Vec<Function> {
    let mut visitor =
        Functions { text: file.text.lines().collect(), in_trait_impl: false, found: Vec::new() };
    visitor.visit_file(&file.syntax);
    visitor.found
}

struct Functions<'a> {
    text: Vec<&'a str>,
    in_trait_impl: bool,
    found: Vec<Function>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &Signature, body: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        let lines = self.text[first - 1..last].iter().filter(|line| is_code(line)).count();
        let parameters = (!self.in_trait_impl).then_some(signature.inputs.len());
        self.found.push(Function { name: signature.ident.to_string(), line: first, lines, parameters });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let outside = std::mem::replace(&mut self.in_trait_impl, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.in_trait_impl = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    #[test]
    fn lines_of_code_and_parameters_are_counted() {
        let text = "/// Says.\nfn short(a: u8) {}\n\nimpl Display for X {\n    fn fmt(&self, f: &mut F) -> R {\n        // Why.\n\n        ok()\n    }\n}\n";
        let tree = Tree::of(&[("a/src/lib.rs", text)]);
        let function =
            |name: &str, line, lines, parameters| Function { name: name.to_owned(), line, lines, parameters };
        assert_eq!(functions(&tree.rust[0]), [function("short", 2, 1, Some(1)), function("fmt", 5, 3, None)]);
    }
}
