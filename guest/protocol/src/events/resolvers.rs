//! `resolvers.declare`: what the operator's configuration says about a resolver, which looks at things outside.

use crate::Rule;
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind, Query, Stored,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row},
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

pub(crate) use crate::generated::records::resolver::{COLLECTION, Resolver};

impl Resolver {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The row of a name.
    pub fn id(tenant: &str, name: &str) -> String {
        keys::key(&[tenant, name])
    }

    /// The resolver of a name.
    pub fn find(tenant: &str, name: &str) -> Query {
        keys::row(COLLECTION, &Self::id(tenant, name))
    }

    /// Whether what it shows was made by neither a task nor its owner.
    pub fn independent_of(&self, source: &Party) -> bool {
        let task = ["task:", &source.task].concat();
        let made = |by: &str| self.producers.iter().any(|producer| producer == by);
        !(made("*") || made(&task) || made(&source.owner))
    }
}

/// `resolvers.declare`: a new resolver, or another content under another digest. The same again changes nothing.
pub(crate) fn declare(cx: &mut Context<'_>) -> Flow<String> {
    check(Rule::IQ1, matches!(cx.principal.kind, PrincipalKind::Operator | PrincipalKind::Host))?;
    let params = cx.params;
    let producers = params.member("producers")?.items().filter_map(|item| item.as_str()).map(Into::into).collect();
    let resolver = Resolver { name: params.text("resolver")?.into(), digest: params.text("digest")?.into(), producers };
    let query = Resolver::find(cx.tenant(), &resolver.name);
    let stream = keys::key(&[cx.tenant(), "operator"]);
    cx.fetch(&[&query, &Box::find(&stream)])?;
    let replayed = cx.replayed()?;
    let known = cx.one(&query)?.map(Resolver::read).transpose()?;
    let revision = known.as_ref().map_or(0, |row| row.revision);
    let same = known.as_ref().is_some_and(|row| row.record == resolver);
    let another = known.as_ref().is_none_or(|row| row.record.digest != resolver.digest);
    if replayed {
        return Ok(view(&resolver, true));
    }
    check(Rule::IQ2, same || another)?;
    cx.resource = Some((query.start.clone(), i64::from(revision)));
    if same {
        return Ok(view(&resolver, true));
    }
    let mut stream = cx.load_box(&stream)?;
    let told = detail(&[("resolver", &resolver.name), ("resolverDigest", &resolver.digest)]);
    let event = Event { kind: "resolver-declared", revision: i64::from(revision), detail: told, ..Event::default() };
    cx.record(&mut [&mut stream], &event)?;
    cx.save_box(&stream);
    cx.write(COLLECTION, &query.start, revision, resolver.text(), Vec::new());
    Ok(view(&resolver, false))
}

fn view(resolver: &Resolver, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("resolver", &resolver.name);
    w.member_str("digest", &resolver.digest);
    w.member_bool("replay", replay);
    w.end_object();
    w.finish()
}
