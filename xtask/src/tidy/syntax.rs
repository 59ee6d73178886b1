//! Syntax helpers for several rules: attributes, and whether code is only for tests.

use syn::{Attribute, ImplItem, Item};

/// Whether the attributes compile the item for tests only: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`, and test
/// attributes of a runtime such as `#[tokio::test]`.
pub(super) fn only_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().segments.last().is_some_and(|segment| segment.ident == "test") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else { return false };
        if !list.path.is_ident("cfg") {
            return false;
        }
        let condition = list.tokens.to_string();
        condition == "test" || (condition.starts_with("all") && words(&condition).any(|word| word == "test"))
    })
}

/// The attributes of an item; none for items that syn does not interpret.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of a function of an `impl`; other items of it are never only for tests.
pub(super) fn impl_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Fn(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether the file is compiled only for tests and benchmarks.
pub(super) fn is_test_file(path: &str) -> bool {
    path.split('/').any(|folder| folder == "tests" || folder == "benches") || path.ends_with("/tests.rs")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_items_are_recognized_by_their_attributes() {
        let check = |code: &str, expected: bool| {
            let file = syn::parse_file(code).unwrap();
            assert_eq!(only_tests(attributes(&file.items[0])), expected, "{code}");
        };
        check("#[cfg(test)] mod tests {}", true);
        check("#[cfg(all(test, unix))] mod tests {}", true);
        check("#[test] fn works() {}", true);
        check("#[tokio::test] async fn works() {}", true);
        check("#[cfg(unix)] mod signal {}", false);
        check("#[cfg(any(test, feature = \"x\"))] mod both {}", false);
        check("#[cfg(not(test))] mod product {}", false);
        check("fn plain() {}", false);
    }
}
