//! The servers of this program that a request passed through, by its header `x-parallel-llm-via`.

use axum::http::{HeaderMap, HeaderName};
use parallel_llm_engine::request::VIA_HEADER;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::recursion;

/// The header with the ids of their processes, oldest first.
pub const VIA: HeaderName = HeaderName::from_static(VIA_HEADER);

/// The servers that a request passed through. Fails if this one is among them, or if they are too many: the question of
/// this request came back, or will.
pub fn of(headers: &HeaderMap) -> Result<Vec<String>, Failure> {
    let mut via = Vec::new();
    for value in headers.get_all(VIA) {
        let ids = value.to_str().map_err(|_| unreadable())?.split(',').map(str::trim);
        via.extend(ids.filter(|id| !id.is_empty()).map(str::to_owned));
    }
    if !via.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return Err(unreadable());
    }
    recursion::check(&via)?;
    Ok(via)
}

fn unreadable() -> Failure {
    Failure::new(Code::Usage, format!("the header `{VIA}` is no list of server ids"))
        .with_next(Next::LeaveOut(VIA_HEADER.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Vec<String>, Code> {
        let headers = values.iter().map(|value| (VIA, value.parse().unwrap()));
        of(&headers.collect()).map_err(|failure| failure.code)
    }

    #[test]
    fn a_way_is_a_list_of_ids() {
        assert_eq!(read(&[]), Ok(vec![]));
        assert_eq!(read(&["A1, B2", "C3,"]).unwrap(), ["A1", "B2", "C3"]);
        assert_eq!(read(&["A1 B2"]), Err(Code::Usage));
        assert_eq!(read(&["A1, \u{e9}"]), Err(Code::Usage));
    }

    #[test]
    fn a_circle_and_a_long_way_are_refused() {
        assert_eq!(read(&["A, B, C, D"]).map(|via| via.len()), Ok(4));
        assert_eq!(read(&["A, B, C, D, E"]), Err(Code::Recursion));
        assert_eq!(read(&[&format!("A, {}", recursion::own_id())]), Err(Code::Recursion));
    }
}
