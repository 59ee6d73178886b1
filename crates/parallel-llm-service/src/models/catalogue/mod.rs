//! The list of each provider's models: fetched recently, stored on disk, or embedded.
//!
//! Nobody waits for a list without need: a fresh one is used, and a provider is asked once at a time, for at most
//! [`FETCH_MAX`]. After a failure it is not asked for [`RETRY_AFTER`], unless a new list is required.
//! Invariant: only a list that was just fetched can show that a name is wrong.

mod kept;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::{Catalogue, Code, Failure, ProviderId};
use parallel_llm_provider::{EMBEDDED_ON, embedded_catalogue};
use parking_lot::Mutex as SyncMutex;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::ports::OPENROUTER;
use kept::{Kept, Mark};
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::{ProviderSettings, Settings};

/// How long a fetched list is fresh in this process. The provider's own cache header says two minutes; models change in
/// days.
const FRESH_FOR: Duration = Duration::from_secs(600);
/// How long it is shared at least, so that callers who wait for one list do not fetch it one after the other.
const SHARED_FOR: Duration = Duration::from_secs(1);
/// The pause after a failed fetch, so that an outage does not slow every question.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The longest wait for a list, which comes in a third of a second. A question waits so long for the prices of today; a server does
/// at most once in [`RETRY_AFTER`].
const FETCH_MAX: Duration = Duration::from_secs(5);
/// The folder of lists inside the data folder.
const FOLDER: &str = "models";

/// The embedded list of OpenRouter, parsed when it is first needed.
static EMBEDDED: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(embedded_catalogue()));

/// Fetches a provider's list.
pub type Fetch =
    Box<dyn Fn(ProviderId, KeyUse) -> BoxFuture<'static, Result<Catalogue, Failure>> + Send + Sync>;

/// Whether the request for a list carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyUse {
    /// No key, and no key command: the user has not named the provider.
    Withheld,
    /// The key, if there is one.
    Sent,
}

/// The lists of models, one for each provider.
pub struct Catalogues {
    fetch: Fetch,
    /// Where fetched lists are stored; `None` keeps them in memory only.
    folder: Option<PathBuf>,
    max_age_ms: u64,
    by_provider: BTreeMap<ProviderId, CachedCatalogue>,
}

/// The cached lists of one provider.
struct CachedCatalogue {
    base_url: String,
    /// Locked during a fetch, so that waiting callers share it.
    fetched: Mutex<Option<Fetched>>,
    /// The last list read from disk.
    read: SyncMutex<Option<Read>>,
}

/// A stored list and the mark of its file.
#[derive(Clone)]
struct Read {
    mark: Mark,
    list: Option<List>,
}

/// The last fetch and its result.
struct Fetched {
    at: Instant,
    key: KeyUse,
    list: Result<List, Failure>,
}

/// A list of models and its source.
#[derive(Clone, Debug)]
pub struct List {
    /// The models.
    pub catalogue: Arc<Catalogue>,
    /// Its source.
    pub source: Source,
}

/// The source of a list of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Fetched by this process, at this time in milliseconds since 1970.
    Live(u64),
    /// Stored on disk, since this time in milliseconds since 1970.
    Kept(u64),
    /// Embedded in the program.
    Embedded,
}

impl Source {
    /// The day that a list of this source is of, as `YYYY-MM-DD`.
    pub(crate) fn day(self) -> String {
        match self {
            Self::Live(at_ms) | Self::Kept(at_ms) => clock::day(at_ms),
            Self::Embedded => EMBEDDED_ON.to_owned(),
        }
    }
}

/// The result of looking up a provider's models.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    /// The list, if there is one.
    pub list: Option<List>,
    /// Why there is no newer list, if one was requested.
    pub failure: Option<Failure>,
}

/// How current a list has to be.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Any cached list; no provider is asked.
    Cached,
    /// Any cached list of today with these names, else a new one. If that cannot be had, an old list with them is used.
    Names(&'a [String]),
    /// A fresh list.
    Fresh,
    /// A list fetched now.
    New,
}

impl Catalogues {
    /// Lists that are stored below the data folder, if there is one, and fetched by `fetch`.
    pub fn new(settings: &Settings, fetch: Fetch) -> Self {
        let cached = |provider: &ProviderSettings| {
            let base_url = provider.base_url.clone()?;
            Some((provider.id.clone(), CachedCatalogue::new(base_url)))
        };
        Self {
            fetch,
            folder: (!settings.in_memory).then(|| settings.data_dir.join(FOLDER)),
            max_age_ms: settings.catalogue_max_age_ms,
            by_provider: settings.providers.iter().filter_map(cached).collect(),
        }
    }

    /// Looks up a provider's models, and fetches them if `wanted` requires it.
    pub fn look_up<'a>(
        &'a self,
        provider: &'a ProviderId,
        wanted: Wanted<'a>,
        key: KeyUse,
    ) -> BoxFuture<'a, Lookup> {
        async move {
            let Some(cached) = self.by_provider.get(provider) else { return Lookup::default() };
            let known = match wanted {
                Wanted::New => None,
                // A caller that needs no fetch does not wait for another's.
                Wanted::Cached | Wanted::Names(_) => {
                    cached.fetched.try_lock().ok().and_then(|fetched| self.remembered(fetched.as_ref()))
                }
                Wanted::Fresh => self.remembered(cached.fetched.lock().await.as_ref()),
            };
            if known.is_some() {
                return Lookup { list: known, failure: None };
            }
            let kept = self.kept(provider, cached).await;
            // If another caller has fetched and stored it in the meantime, its list in memory says more than the file.
            let meanwhile =
                || cached.fetched.try_lock().ok().and_then(|fetched| self.remembered(fetched.as_ref()));
            let kept = if matches!(wanted, Wanted::New) { kept } else { meanwhile().or(kept) };
            let carried = provider.0 == OPENROUTER;
            let after_embedded = || kept.clone().filter(List::is_after_embedded);
            let newest = if carried { Some(after_embedded().unwrap_or_else(List::embedded)) } else { kept };
            let enough = match wanted {
                Wanted::Cached => return Lookup { list: newest, failure: None },
                Wanted::Names(names) => {
                    let has_all = |list: &List| names.iter().all(|name| list.catalogue.find(name).is_some());
                    match newest.clone().filter(has_all) {
                        Some(list) if self.is_fresh(&list) => Some(list),
                        Some(old) => Some(self.fetched(provider, cached, key, false).await.unwrap_or(old)),
                        None => None,
                    }
                }
                Wanted::Fresh => newest.clone().filter(|list| self.is_fresh(list)),
                Wanted::New => None,
            };
            if enough.is_some() {
                return Lookup { list: enough, failure: None };
            }
            match self.fetched(provider, cached, key, matches!(wanted, Wanted::New)).await {
                Ok(list) => Lookup { list: Some(list), failure: None },
                Err(failure) => Lookup { list: newest, failure: Some(failure) },
            }
        }
        .boxed()
    }

    /// Fetches the provider's list now.
    pub async fn fetch_now(&self, provider: &ProviderId, key: KeyUse) -> Result<List, Failure> {
        match self.by_provider.get(provider) {
            Some(cached) => self.fetched(provider, cached, key, true).await,
            None => {
                Err(Failure::new(Code::SettingsInvalid, format!("no provider `{provider}` is configured")))
            }
        }
    }

    /// Whether a list is young enough to be used without fetching.
    pub fn is_fresh(&self, list: &List) -> bool {
        match list.source {
            Source::Live(_) => true,
            // A file dated in the future, from a wrong clock, must not stay fresh.
            Source::Kept(at_ms) => {
                clock::unix_ms().checked_sub(at_ms).is_some_and(|age_ms| age_ms < self.max_age_ms)
            }
            // It is as old as the program.
            Source::Embedded => clock::day_ms(EMBEDDED_ON)
                .and_then(|day_ms| clock::unix_ms().checked_sub(day_ms))
                .is_some_and(|age_ms| age_ms < self.max_age_ms),
        }
    }

    /// The list on disk. Parsing it takes a millisecond on a blocking thread, so it is read again only if the file has
    /// changed; every question checks that.
    async fn kept(&self, provider: &ProviderId, cached: &CachedCatalogue) -> Option<List> {
        let folder = self.folder.as_ref()?;
        let mark = Mark::of(folder, provider)?;
        if let Some(read) = cached.read.lock().clone().filter(|read| read.mark == mark) {
            return read.list;
        }
        let (folder, provider, base_url) = (folder.clone(), provider.clone(), cached.base_url.clone());
        let read = move || Kept::read(&folder, &provider, &base_url);
        let kept = tokio::task::spawn_blocking(read).await.ok()?;
        let list = kept.map(|kept| {
            let catalogue = Arc::new(Catalogue::new(kept.models, false));
            List { catalogue, source: Source::Kept(kept.fetched_at) }
        });
        *cached.read.lock() = Some(Read { mark, list: list.clone() });
        list
    }

    /// The provider's list, fetched now unless that was tried recently.
    async fn fetched(
        &self,
        provider: &ProviderId,
        cached: &CachedCatalogue,
        key: KeyUse,
        anew: bool,
    ) -> Result<List, Failure> {
        let mut fetched = cached.fetched.lock().await;
        if let Some(known) = fetched.as_ref().filter(|known| self.holds(known, key) && !anew) {
            return known.list.clone();
        }
        let late = || Err(Failure::new(Code::Timeout, format!("{provider} gave no list of models in time")));
        let asked = tokio::time::timeout(FETCH_MAX, (self.fetch)(provider.clone(), key)).await;
        let list = match asked.unwrap_or_else(|_| late()) {
            Ok(catalogue) if catalogue.models().is_empty() && self.has_sold(provider, cached).await => {
                Err(Failure::new(Code::Protocol, format!("{provider} gave an empty list of models")))
            }
            Ok(catalogue) => {
                Ok(List { catalogue: Arc::new(catalogue), source: Source::Live(clock::unix_ms()) })
            }
            Err(failure) => Err(failure),
        };
        *fetched = Some(Fetched { at: Instant::now(), key, list: list.clone() });
        drop(fetched);
        // Kept in memory before it is stored, so that no caller finds the file first.
        if let Ok(list) = &list {
            self.keep(provider, cached, list).await;
        }
        list
    }

    fn remembered(&self, fetched: Option<&Fetched>) -> Option<List> {
        fetched.and_then(|known| known.list.clone().ok().filter(|_| self.holds(known, known.key)))
    }

    /// Whether what was fetched is still valid for a request with this key use. A provider that refused without a key may
    /// answer with one.
    fn holds(&self, fetched: &Fetched, key: KeyUse) -> bool {
        let held_for = match fetched.list {
            Ok(_) => FRESH_FOR.min(Duration::from_millis(self.max_age_ms)).max(SHARED_FOR),
            Err(_) if fetched.key >= key => RETRY_AFTER,
            Err(_) => Duration::ZERO,
        };
        fetched.at.elapsed() < held_for
    }

    /// Whether a list of the provider is known that has models, so that one without any is a defect of its own.
    async fn has_sold(&self, provider: &ProviderId, cached: &CachedCatalogue) -> bool {
        provider.0 == OPENROUTER
            || self.kept(provider, cached).await.is_some_and(|list| !list.catalogue.models().is_empty())
    }

    async fn keep(&self, provider: &ProviderId, cached: &CachedCatalogue, list: &List) {
        let Some(folder) = self.folder.clone() else { return };
        let kept = Kept::new(clock::unix_ms(), &cached.base_url, list.catalogue.models());
        let id = provider.clone();
        let written = tokio::task::spawn_blocking(move || kept.write(&folder, &id)).await;
        if let Err(error) = written.unwrap_or_else(|lost| Err(std::io::Error::other(lost))) {
            tracing::warn!("the list of models of {provider} cannot be kept: {error}");
        }
    }
}

impl CachedCatalogue {
    const fn new(base_url: String) -> Self {
        Self { base_url, fetched: Mutex::const_new(None), read: SyncMutex::new(None) }
    }
}

impl List {
    fn embedded() -> Self {
        Self { catalogue: Arc::clone(&EMBEDDED), source: Source::Embedded }
    }

    /// Whether it is newer than the embedded list. A date in the future comes from a wrong clock and counts for
    /// nothing.
    fn is_after_embedded(&self) -> bool {
        match self.source {
            Source::Live(_) => true,
            Source::Kept(at_ms) => {
                at_ms <= clock::unix_ms() && clock::day_ms(EMBEDDED_ON).is_none_or(|day_ms| day_ms <= at_ms)
            }
            Source::Embedded => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use parallel_llm_engine::ModelInfo;

    use super::*;

    const BASE_URL: &str = "http://127.0.0.1:1/v1";

    /// The lists of two providers, which have this model or fail, and the number of requests for them.
    fn lists(home: &tempfile::TempDir, sold: Option<&'static str>) -> (Arc<Catalogues>, Arc<AtomicUsize>) {
        let fetches = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&fetches);
        let fetch: Fetch = Box::new(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                tokio::task::yield_now().await;
                sold.map(|id| Catalogue::new(vec![ModelInfo::named(id)], true))
                    .ok_or_else(|| Failure::new(Code::Connection, "nobody is there"))
            })
        });
        let by_provider =
            [mistral(), openrouter()].map(|id| (id, CachedCatalogue::new(BASE_URL.to_owned()))).into();
        let folder = Some(home.path().join(FOLDER));
        (Arc::new(Catalogues { fetch, folder, max_age_ms: 60_000, by_provider }), fetches)
    }

    fn mistral() -> ProviderId {
        ProviderId("mistral".to_owned())
    }

    fn openrouter() -> ProviderId {
        ProviderId(OPENROUTER.to_owned())
    }

    #[tokio::test]
    async fn many_who_want_a_list_at_once_fetch_it_once() {
        let home = tempfile::tempdir().unwrap();
        let (lists, fetches) = lists(&home, Some("large"));
        let mistral = mistral();
        let found = join_all((0..10).map(|_| lists.look_up(&mistral, Wanted::Fresh, KeyUse::Sent))).await;
        assert!(found.iter().all(|found| found.list.as_ref().is_some_and(|list| list.catalogue.is_live())));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        lists.look_up(&mistral, Wanted::New, KeyUse::Sent).await;
        assert_eq!(fetches.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_provider_that_is_down_is_not_asked_again_at_once() {
        let home = tempfile::tempdir().unwrap();
        let (lists, fetches) = lists(&home, None);
        let (mistral, names) = (mistral(), ["large".to_owned()]);
        for _ in 0..3 {
            let found = lists.look_up(&mistral, Wanted::Names(&names), KeyUse::Sent).await;
            assert!(found.list.is_none() && found.failure.is_some());
        }
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        assert!(lists.look_up(&mistral, Wanted::Cached, KeyUse::Sent).await.failure.is_none());
    }

    #[tokio::test]
    async fn an_empty_list_does_not_replace_one_with_models() {
        let home = tempfile::tempdir().unwrap();
        let (sold, _) = lists(&home, Some("large"));
        let mistral = mistral();
        assert!(sold.fetch_now(&mistral, KeyUse::Sent).await.is_ok());
        let (mut emptied, _) = lists(&home, None);
        let empty: Fetch = Box::new(|_, _| Box::pin(async { Ok(Catalogue::new(Vec::new(), true)) }));
        Arc::get_mut(&mut emptied).expect("it is the only one").fetch = empty;
        let refused = emptied.fetch_now(&mistral, KeyUse::Sent).await.map(drop);
        assert_eq!(refused.map_err(|failure| failure.code), Err(Code::Protocol));
        let names = ["large".to_owned()];
        let found = emptied.look_up(&mistral, Wanted::Names(&names), KeyUse::Sent).await;
        assert_eq!(found.list.map(|list| list.catalogue.models().len()), Some(1));
    }

    #[tokio::test]
    async fn a_kept_list_answers_the_next_process_for_the_names_it_knows() {
        let home = tempfile::tempdir().unwrap();
        lists(&home, Some("large")).0.look_up(&mistral(), Wanted::Fresh, KeyUse::Sent).await;
        let (lists, fetches) = lists(&home, None);
        let source = async |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let found = lists.look_up(&mistral(), Wanted::Names(&names), KeyUse::Sent).await;
            let list = found.list.unwrap();
            assert!(!list.catalogue.is_live(), "only a list of now says that a name is wrong");
            (matches!(list.source, Source::Kept(_)), found.failure.is_some())
        };
        assert_eq!(source(&["large"]).await, (true, false));
        assert_eq!(fetches.load(Ordering::SeqCst), 0);
        assert_eq!(source(&["large", "newest"]).await, (true, true));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_stored_list_is_read_again_only_if_it_was_replaced() {
        let home = tempfile::tempdir().unwrap();
        let (lists, _) = lists(&home, None);
        let known = async || lists.look_up(&mistral(), Wanted::Cached, KeyUse::Sent).await.list;
        assert!(known().await.is_none());
        let keep = |name| {
            Kept::new(7, BASE_URL, &[ModelInfo::named(name)])
                .write(lists.folder.as_ref().unwrap(), &mistral())
        };
        keep("large").unwrap();
        let (first, second) = (known().await.unwrap(), known().await.unwrap());
        assert!(Arc::ptr_eq(&first.catalogue, &second.catalogue));
        keep("small").unwrap();
        assert!(known().await.unwrap().catalogue.find("small").is_some());
        std::fs::remove_dir_all(lists.folder.as_ref().unwrap()).unwrap();
        assert!(known().await.is_none());
    }

    #[tokio::test]
    async fn the_newer_of_the_stored_and_the_embedded_list_is_used() {
        let home = tempfile::tempdir().unwrap();
        let (lists, _) = lists(&home, None);
        let carried_on = clock::day_ms(EMBEDDED_ON).unwrap();
        let in_an_hour = clock::unix_ms() + 3_600_000;
        for (kept_at, is_kept) in [(carried_on - 1, false), (carried_on, true), (in_an_hour, false)] {
            let kept = Kept::new(kept_at, BASE_URL, &[ModelInfo::named("lab/old")]);
            kept.write(lists.folder.as_ref().unwrap(), &openrouter()).unwrap();
            let expected = if is_kept { Source::Kept(kept_at) } else { Source::Embedded };
            let known = EMBEDDED.models()[0].id.clone();
            let names = [if is_kept { "lab/old".to_owned() } else { known }];
            for wanted in [Wanted::Cached, Wanted::Names(&names), Wanted::Fresh, Wanted::New] {
                let found = lists.look_up(&openrouter(), wanted, KeyUse::Sent).await;
                assert_eq!(found.list.map(|list| list.source), Some(expected), "{kept_at} {wanted:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_provider_that_refuses_without_a_key_is_asked_with_one() {
        let home = tempfile::tempdir().unwrap();
        let (lists, fetches) = lists(&home, None);
        for (key, expected) in
            [(KeyUse::Withheld, 1), (KeyUse::Withheld, 1), (KeyUse::Sent, 2), (KeyUse::Withheld, 2)]
        {
            lists.look_up(&mistral(), Wanted::Fresh, key).await;
            assert_eq!(fetches.load(Ordering::SeqCst), expected, "{key:?}");
        }
    }
}
