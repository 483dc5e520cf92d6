//! Who takes part: a filter, its configuration, and the files it needs.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::filters::{self, Limit};
use crate::front::Front;
use crate::network_filters::companion;
use crate::{absolute, missing, path};

/// One filter with one configuration.
pub struct Contender {
    /// As in `ONLY`.
    pub name: String,
    /// As in the table.
    pub label: String,
    /// Its places in Envoy's configuration.
    pub front: Front,
    /// Its module, where it is wasm.
    pub module: Option<PathBuf>,
    pub limit: Limit,
}

/// Those that `ONLY` names, or all, and always the Envoy without a filter.
///
/// # Errors
/// A module is missing.
pub fn chosen() -> Result<Vec<Contender>, String> {
    let only = crate::only();
    let mut contenders = all();
    contenders
        .retain(|contender| only.is_empty() || contender.name == "none" || only.contains(&contender.name));
    let modules = contenders.iter().filter_map(|contender| contender.module.as_ref());
    match modules.into_iter().find(|module| !module.is_file()) {
        Some(module) => Err(missing(module)),
        None => Ok(contenders),
    }
}

fn all() -> Vec<Contender> {
    let weir = path("WEIR_WASM", "target/weir.wasm");
    let empty = path("WEIR_EMPTY", "target/empty.wasm");
    let others = env::var_os("WEIR_BASE").unwrap_or_default();
    let others: Vec<PathBuf> =
        env::split_paths(&others).filter(|path| !path.as_os_str().is_empty()).collect();

    let mut all = vec![
        native("none", "no filter", Limit::High, None),
        wasm("empty", "empty wasm filter", Limit::High, filters::empty(&empty), &empty),
    ];
    for limit in [Limit::High, Limit::Low] {
        // Those that refuse go by names of their own, so that `ONLY` can leave them out.
        let [one, three, other, local, lua] = match limit {
            Limit::High => ["weir", "weir3", "base", "local_ratelimit", "lua"],
            Limit::Low => ["weir-429", "weir3-429", "base-429", "local_ratelimit-429", "lua-429"],
        };
        all.push(wasm(one, "**Weir**, one rule", limit, filters::weir(&weir, limit), &weir));
        let filter = filters::weir_three_rules(&weir, limit);
        all.push(wasm(three, "**Weir**, three rules, API keys, paths", limit, filter, &weir));
        if limit == Limit::High {
            let mut both = wasm(
                "weir-l4",
                "**Weir**, one rule, and its network filter",
                limit,
                filters::weir(&weir, limit),
                &weir,
            );
            both.front.network.push(companion("weir", &weir, ""));
            all.push(both);
            let label =
                "**Weir**, 4,096 slots: with many clients nearly each request takes the slot of another";
            all.push(wasm("weir-small", label, limit, filters::weir_small(&weir), &weir));
            let guard = filters::weir_guard(&weir);
            all.push(wasm("weir-guard", "**Weir**, the traffic guard alone", limit, guard, &weir));
            let everything = filters::weir_everything(&weir);
            let label = "**Weir**, three rules and the guard, everything on";
            all.push(wasm("weir-all", label, limit, everything, &weir));
        }
        for module in &others {
            let module = absolute(module);
            let label = format!("Weir, one rule, {}", module.file_name().unwrap_or_default().display());
            all.push(wasm(other, &label, limit, filters::weir(&module, limit), &module));
        }
        let filter = filters::local_ratelimit(limit);
        all.push(native(local, "Envoy's local_ratelimit, a descriptor per address", limit, Some(filter)));
        all.push(native(lua, "Lua, ten lines", limit, Some(filters::lua(limit))));
    }
    all
}

fn native(name: &str, label: &str, limit: Limit, filter: Option<Value>) -> Contender {
    let front = Front { http: filter, ..Front::default() };
    Contender { name: name.to_owned(), label: label.to_owned(), front, module: None, limit }
}

fn wasm(name: &str, label: &str, limit: Limit, filter: Value, module: &Path) -> Contender {
    Contender { module: Some(module.to_owned()), ..native(name, label, limit, Some(filter)) }
}
