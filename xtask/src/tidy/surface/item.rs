//! The lines of one item: its signature, its public parts, its derived traits, and those of its `impl` blocks.

use proc_macro2::LineColumn;
use syn::punctuated::Pair;
use syn::{
    Attribute, Fields, ImplItem, Item, ItemEnum, ItemImpl, ItemStruct, ItemTrait, Signature, TraitItem, Type,
    Visibility,
};

use super::super::tree::RustFile;
use super::text::between;

/// The name of an item, if it is one that can be public.
pub(super) fn name(item: &Item) -> Option<&syn::Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    })
}

/// The name of the type that a block is about.
pub(super) fn self_name(item: &ItemImpl) -> Option<&syn::Ident> {
    match &*item.self_ty {
        Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

/// The lines of an item below `path`.
pub(super) fn describe(file: &RustFile, item: &Item, path: &str) -> Vec<String> {
    let text = |from: LineColumn, to: LineColumn| between(&file.text, from, to);
    match item {
        Item::Const(item) => {
            vec![format!("const {path}::{}", text(start(&item.ident), item.eq_token.span.start()))]
        }
        Item::Static(item) => {
            vec![format!("static {path}::{}", text(start(&item.ident), item.eq_token.span.start()))]
        }
        Item::Type(item) => {
            vec![format!("type {path}::{}", text(start(&item.ident), item.semi_token.span.start()))]
        }
        Item::Fn(item) => vec![function(file, &item.sig, item.block.brace_token.span.open().start(), path)],
        Item::Struct(item) => structure(file, item, path),
        Item::Enum(item) => enumeration(file, item, path),
        Item::Trait(item) => interface(file, item, path),
        _ => Vec::new(),
    }
}

fn start(ident: &syn::Ident) -> LineColumn {
    ident.span().start()
}

/// A function up to its body or semicolon.
fn function(file: &RustFile, signature: &Signature, end: LineColumn, path: &str) -> String {
    let kind = if signature.asyncness.is_some() { "async fn" } else { "fn" };
    let text = between(&file.text, start(&signature.ident), end);
    // Whether a function changes its own copy concerns no caller.
    format!("{kind} {path}::{}", text.replacen("(mut self", "(self", 1))
}

fn structure(file: &RustFile, item: &ItemStruct, path: &str) -> Vec<String> {
    let inner = format!("{path}::{}", item.ident);
    let (end, close) = match (&item.fields, &item.semi_token) {
        (Fields::Named(fields), _) => {
            let braces = fields.brace_token.span;
            (braces.open().start(), braces.close().start())
        }
        (Fields::Unnamed(fields), _) => {
            let parentheses = fields.paren_token.span;
            (parentheses.open().start(), parentheses.close().start())
        }
        (Fields::Unit, Some(semi)) => (semi.span.start(), semi.span.start()),
        (Fields::Unit, None) => return Vec::new(),
    };
    let mut lines = marks(&item.attrs, &inner);
    lines.push(format!("struct {path}::{}", between(&file.text, start(&item.ident), end)));
    for (index, pair) in item.fields.iter().enumerate() {
        let Visibility::Public(shown) = &pair.vis else { continue };
        // Up to the comma behind it; the last field may have none.
        let commas = match &item.fields {
            Fields::Named(fields) => fields.named.pairs().nth(index).and_then(comma),
            Fields::Unnamed(fields) => fields.unnamed.pairs().nth(index).and_then(comma),
            Fields::Unit => None,
        };
        let text = between(&file.text, shown.span.end(), commas.unwrap_or(close));
        let text = text.trim();
        lines.push(if pair.ident.is_some() {
            format!("field {inner}::{text}")
        } else {
            format!("field {inner}::{index}: {text}")
        });
    }
    lines
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of `and_then`")]
fn comma<T>(pair: Pair<&T, &syn::Token![,]>) -> Option<LineColumn> {
    pair.punct().map(|comma| comma.span.start())
}

fn enumeration(file: &RustFile, item: &ItemEnum, path: &str) -> Vec<String> {
    let inner = format!("{path}::{}", item.ident);
    let braces = item.brace_token.span;
    let mut lines = marks(&item.attrs, &inner);
    let head = between(&file.text, start(&item.ident), braces.open().start());
    lines.push(format!("enum {path}::{head}"));
    for pair in item.variants.pairs() {
        let begin = start(&pair.value().ident);
        let end = comma(pair).unwrap_or(braces.close().start());
        let text = between(&file.text, begin, end);
        // A field's comma before the closing brace is the formatter's.
        lines.push(format!("variant {inner}::{}", text.trim().replace(", }", " }")));
    }
    lines
}

fn interface(file: &RustFile, item: &ItemTrait, path: &str) -> Vec<String> {
    let inner = format!("{path}::{}", item.ident);
    let head = between(&file.text, start(&item.ident), item.brace_token.span.open().start());
    let mut lines = vec![format!("trait {path}::{head}")];
    for item in &item.items {
        let TraitItem::Fn(method) = item else { continue };
        lines.push(match (&method.default, &method.semi_token) {
            (Some(body), _) => {
                let line = function(file, &method.sig, body.brace_token.span.open().start(), &inner);
                format!("{line}, with a body")
            }
            (None, Some(semi)) => function(file, &method.sig, semi.span.start(), &inner),
            (None, None) => continue,
        });
    }
    lines
}

/// The public methods of a block, or the trait that it implements. `path` is that of the type.
pub(super) fn described_impl(file: &RustFile, item: &ItemImpl, path: &str) -> Vec<String> {
    if let Some((of_trait, keyword)) = &item.trait_ {
        let first = of_trait.segments.first().map(|segment| start(&segment.ident));
        let name = first.map(|from| between(&file.text, from, keyword.span.start()));
        return vec![format!("impl {} for {path}", name.unwrap_or_default())];
    }
    let methods = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => {
            Some(function(file, &method.sig, method.block.brace_token.span.open().start(), path))
        }
        ImplItem::Const(constant) if matches!(constant.vis, Visibility::Public(_)) => {
            let text = between(&file.text, start(&constant.ident), constant.eq_token.span.start());
            Some(format!("const {path}::{text}"))
        }
        _ => None,
    });
    methods.collect()
}

/// What attributes promise: derived traits, and that parts may be added.
fn marks(attributes: &[Attribute], path: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if attribute.path().is_ident("non_exhaustive") {
            lines.push(format!("#[non_exhaustive] {path}"));
        }
        if let syn::Meta::List(list) = &attribute.meta
            && list.path.is_ident("derive")
        {
            let derived = list.tokens.to_string();
            let names = derived.split(',').map(|name| name.replace(' ', ""));
            let names = names.filter(|name| !name.is_empty());
            lines.extend(names.map(|name| format!("#[derive({name})] {path}")));
        }
    }
    lines
}
