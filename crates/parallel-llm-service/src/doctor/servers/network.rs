//! The network: the addresses of the configured providers, and the proxy.

use std::collections::BTreeSet;

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;
use parallel_llm_settings::settings::{HostInfo, Proxy};

pub(crate) fn examine(doctor: &Doctor) -> Vec<Finding> {
    let settings = &doctor.settings;
    let named: BTreeSet<_> =
        doctor.configured.models().into_iter().map(|named| named.model.provider).collect();
    let at = |id: &str| {
        let name = format!("providers.{id}.base_url");
        settings.shown().iter().find(move |shown| shown.name == name)
    };
    // The check of keys reports a missing address, with what to set.
    let providers = settings.providers.iter().filter(|provider| named.contains(&provider.id));
    let mut findings: Vec<Finding> = providers
        .filter_map(|provider| {
            let (address, origin) = match (at(&provider.id.0), &provider.base_url) {
                (Some(shown), _) => (shown.value.clone(), shown.origin.to_string()),
                (None, base_url) => (base_url.clone()?, "default".to_owned()),
            };
            Some(Finding::ok(format!("{} is at {address} ({origin})", provider.name)))
        })
        .collect();
    findings.push(way_out(&settings.host_info));
    findings
}

fn way_out(host: &HostInfo) -> Finding {
    let Some(Proxy { variable, address, has_credentials }) = &host.proxy else {
        return Finding::ok("no proxy is named");
    };
    let Some(address) = address else {
        let found = format!("the address of a proxy in `{variable}` cannot be read");
        return Finding::warning(found, format!("set `{variable}` like `http://proxy.example:3128`"));
    };
    let credentials = if *has_credentials { ", with a name and a password" } else { "" };
    let exceptions = host.exceptions.map(|name| format!(", but for the hosts in `{name}`"));
    let exceptions = exceptions.unwrap_or_default();
    Finding::ok(format!(
        "calls to other machines go through the proxy {address} (`{variable}`{credentials}){exceptions}"
    ))
}
