//! The functions of a file, with their lengths and parameters.
//!
//! Only lines with code count: a comment that explains a long function must not make it longer.

use syn::visit::{self, Visit};
use syn::{FnArg, ImplItem, ImplItemFn, Item, ItemFn, ItemImpl, Signature, TraitItemFn, Type};

use super::syntax::{attributes, impl_attributes, only_tests};
use super::tree::RustFile;

/// A function with a body.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    /// Lines with code, from the signature to the closing brace.
    pub(super) lines: usize,
    /// The number of parameters, including `self`; `None` in the `impl` of a trait, which determines them.
    pub(super) parameters: Option<usize>,
    /// The number of parameters that are a tuple or a reference to one.
    pub(super) tuples: usize,
    pub(super) for_tests: bool,
}

/// All functions of the file that have a body.
pub(super) fn functions(file: &RustFile) -> Vec<Function> {
    let mut visitor = Functions {
        text: file.text.lines().collect(),
        in_trait_impl: false,
        in_tests: false,
        found: Vec::new(),
    };
    visitor.visit_file(&file.syntax);
    visitor.found
}

struct Functions<'a> {
    text: Vec<&'a str>,
    in_trait_impl: bool,
    in_tests: bool,
    found: Vec<Function>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &Signature, body: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        let lines = self.text[first - 1..last].iter().filter(|line| is_code(line)).count();
        let parameters = (!self.in_trait_impl).then_some(signature.inputs.len());
        let tuples = if self.in_trait_impl { 0 } else { tuples(signature) };
        let name = signature.ident.to_string();
        let for_tests = self.in_tests;
        self.found.push(Function { name, line: first, lines, parameters, tuples, for_tests });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let outside = self.in_tests;
        self.in_tests |= only_tests(attributes(item));
        visit::visit_item(self, item);
        self.in_tests = outside;
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let outside = self.in_tests;
        self.in_tests |= only_tests(impl_attributes(item));
        visit::visit_impl_item(self, item);
        self.in_tests = outside;
    }

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

fn tuples(signature: &Signature) -> usize {
    let is_tuple = |argument: &&FnArg| {
        let FnArg::Typed(argument) = argument else { return false };
        let mut kind = &*argument.ty;
        while let Type::Reference(reference) = kind {
            kind = &reference.elem;
        }
        matches!(kind, Type::Tuple(tuple) if tuple.elems.len() > 1)
    };
    signature.inputs.iter().filter(is_tuple).count()
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
    fn lines_and_parameters_are_counted() {
        let check = |text: &str, name: &str, line, lines| {
            let tree = Tree::of(&[("a/src/lib.rs", text)]);
            let name = name.to_owned();
            let plain = Function { name, line, lines, parameters: Some(1), tuples: 0, for_tests: false };
            (functions(&tree.rust[0]).remove(0), plain)
        };
        let (found, plain) = check("/// Short.\nfn short(a: u8) {}\n", "short", 2, 1);
        assert_eq!(found, plain);
        let body = "impl Display for X {\n    fn fmt(&self, f: &mut F) -> R {\n        // Why.\n\n        ok()\n    }\n}\n";
        let (found, plain) = check(body, "fmt", 2, 3);
        assert_eq!(found, Function { parameters: None, ..plain });
        let (found, plain) = check("fn pair(a: &(u8, u8), (): ()) {}", "pair", 1, 1);
        assert_eq!(found, Function { parameters: Some(2), tuples: 1, ..plain });
        let (found, plain) = check("#[cfg(test)]\nmod tests {\n    fn help(a: u8) {}\n}\n", "help", 3, 1);
        assert_eq!(found, Function { for_tests: true, ..plain });
    }
}
