//! Resolvers as the operator's file configures them, with the component's own judgement of what is JSON.

use super::{SOON, fake};
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use threadmesh_adapters::resolvers::{Judge, parse};
use threadmesh_runtime::{
    Core, WasmCore,
    engine::{Cache, Options},
    resolver::{Canonical, DeclaredResolver, Fact, Found, Question},
};

/// The canonical form as the component sees it.
pub fn canonical() -> Canonical {
    static CORE: OnceLock<WasmCore> = OnceLock::new();
    let core = CORE.get_or_init(|| {
        let user = rustix::process::geteuid().as_raw();
        let cache = Cache::At(std::env::temp_dir().join(format!("threadmesh-tests-{user}")));
        WasmCore::with(Options { cache, ..Options::default() }).unwrap()
    });
    Arc::new(|text| core.session().unwrap().canonicalize(text).unwrap().map_err(|error| error.code))
}

/// A resolver `source` with these settings.
pub fn resolver(settings: &str) -> DeclaredResolver {
    try_resolver(settings).unwrap()
}

pub fn try_resolver(settings: &str) -> Result<DeclaredResolver, String> {
    let digest = |text: &str| Ok(fake::digest(text));
    let judge = Judge { digest: &digest, canonical: canonical() };
    let resolvers = parse(&format!("[resolver.source]\n{settings}"), &judge);
    resolvers.map(|mut resolvers| resolvers.remove(0)).map_err(|error| error.to_string())
}

pub fn question(address: &str) -> Question {
    Question { address: address.into(), pointer: None, bytes_max: u64::MAX }
}

pub fn look(resolver: &DeclaredResolver, address: &str) -> Fact {
    look_within(resolver, &question(address), SOON)
}

/// Looks, and fails if that takes much longer than it may.
pub fn look_within(resolver: &DeclaredResolver, question: &Question, limit: Duration) -> Fact {
    let start = Instant::now();
    let fact = resolver.look(question, start + limit);
    assert!(start.elapsed() < limit + SOON, "the look took {:?}", start.elapsed());
    fact
}

/// What is found at a pointer.
pub fn value(resolver: &DeclaredResolver, address: &str, pointer: &str) -> Fact {
    look_within(resolver, &Question { pointer: Some(pointer.into()), ..question(address) }, SOON)
}

/// The fact as `found`, `absent`, `too-large`, `refused CODE` or `unreachable CODE`.
pub fn said(fact: &Fact) -> String {
    match fact.reason() {
        Some(reason) => format!("{} {}", fact.word(), reason.code),
        None => fact.word().to_owned(),
    }
}

pub fn found(fact: Fact) -> Found {
    match fact {
        Fact::Found(found) => found,
        other => panic!("{other:?}"),
    }
}
