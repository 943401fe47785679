//! The structural part of the schemas: types, members, words, lengths, patterns, ranges.
//!
//! The shapes are tables that `cargo xtask codegen` compiles from `spec/schema/`; one loop evaluates them. Of several
//! faults the first in this order is reported: an object's own (its type, then members that it must not have in the
//! order received, then missing ones in schema order, then their number) before those of its members; members in schema
//! order, each with everything below it; elements in their order, after the faults of the array itself. At one value:
//! its type, then the rules in the order of `spec/rules/shapes.json`.
//!
//! Not here: whatever compares two members or depends on one (see the modules of the kinds).

pub(in crate::documents) mod text;

pub use crate::schema::ShapeId;

use crate::generated::shapes as tables;
use crate::json::{Kind, Value};
use crate::rules::{Broken, check};
use crate::schema::{Member, Shape};
use crate::{Code, Error, Rule};
use alloc::{string::String, vec::Vec};

/// The shape of the params of `method`; nothing for a method that has no schema in `spec/schema/params/`.
pub fn params(method: &str) -> Option<ShapeId> {
    let found = tables::PARAMS.iter().find(|(name, _)| text_at(*name) == method);
    found.map(|(_, shape)| ShapeId(*shape))
}

/// The methods that have params, in alphabetical order.
pub fn methods() -> impl Iterator<Item = &'static str> {
    tables::PARAMS.iter().map(|(name, _)| text_at(*name))
}

/// The shape of `member` in the closed object `shape`.
pub(crate) fn member(shape: ShapeId, member: &str) -> Option<ShapeId> {
    let Shape::Object { first, count, .. } = at(shape.0) else { return None };
    let found = slice(tables::MEMBERS, first, count).iter().find(|Member(name, ..)| text_at(*name) == member);
    found.map(|Member(_, shape, _)| ShapeId(*shape))
}

/// Whether `it` is a text as the member `name` of the closed object `shape` must be; not where there is no such member.
pub(crate) fn fits(shape: ShapeId, name: &str, it: &str) -> bool {
    member(shape, name).is_some_and(|member| text_rules(at(member.0), it).is_ok())
}

/// Checks `value` against `shape`. The error has `code`, the pointer of the fault in the whole text, and a detail that
/// starts with the rule: SH-1 to SH-19.
pub fn check_value(shape: ShapeId, value: Value<'_>, code: Code) -> Result<(), Error> {
    let mut checker = Checker { code, todo: Vec::with_capacity(32) };
    checker.todo.push((value, shape.0));
    // Every step goes one level down in the schemas, none of which contains itself: the loop ends.
    while let Some((value, shape)) = checker.todo.pop() {
        checker.value(value, at(shape))?;
    }
    Ok(())
}

fn at(shape: u16) -> Shape {
    tables::SHAPES.get(usize::from(shape)).copied().unwrap_or(Shape::Any)
}

fn text_at(index: u16) -> &'static str {
    tables::NAMES.get(usize::from(index)).copied().unwrap_or_default()
}

fn slice<T>(table: &'static [T], first: u16, count: u16) -> &'static [T] {
    let first = usize::from(first);
    table.get(first..first.saturating_add(usize::from(count))).unwrap_or_default()
}

/// The JSON type of values of a shape; nothing where that depends on the value.
fn kind_of(shape: Shape) -> Option<Kind> {
    match shape {
        Shape::Any | Shape::ByMember { .. } | Shape::ByType { .. } => None,
        Shape::Null => Some(Kind::Null),
        Shape::Boolean | Shape::ConstBool(_) => Some(Kind::Bool),
        Shape::Integer { .. } => Some(Kind::Number),
        Shape::Object { .. } | Shape::Open { .. } | Shape::Tagged { .. } => Some(Kind::Object),
        Shape::Array { .. } => Some(Kind::Array),
        _ => Some(Kind::String),
    }
}

struct Checker<'a> {
    code: Code,
    /// What is left to check, the next one last.
    todo: Vec<(Value<'a>, u16)>,
}

impl<'a> Checker<'a> {
    fn must(&self, rule: Rule, holds: bool, value: Value<'_>) -> Result<(), Error> {
        self.must_at(rule, holds, || value.pointer())
    }

    fn must_at(&self, rule: Rule, holds: bool, pointer: impl FnOnce() -> String) -> Result<(), Error> {
        check(rule, holds).map_err(|broken| broken.as_code(self.code, pointer()))
    }

    fn value(&mut self, value: Value<'a>, shape: Shape) -> Result<(), Error> {
        if let Some(kind) = kind_of(shape) {
            self.must(Rule::SH1, value.kind() == kind, value)?;
        }
        match shape {
            Shape::Any | Shape::Null | Shape::Boolean => Ok(()),
            Shape::ConstBool(constant) => self.must(Rule::SH4, value.as_bool().is_none_or(|it| it == constant), value),
            Shape::Integer { min, max } => self.integer(value, min, max),
            Shape::Object { first, count, min } => self.object(value, slice(tables::MEMBERS, first, count), min),
            Shape::Open { min, max } => {
                self.must(Rule::SH18, value.len() >= usize::from(min), value)?;
                self.must(Rule::SH19, max == u16::MAX || value.len() <= usize::from(max), value)
            }
            Shape::Array { item, min, max, unique } => self.array(value, item, (min, max), unique),
            Shape::Tagged { tag, first, count } => self.tagged(value, tag, slice(tables::CASES, first, count)),
            Shape::ByMember { name, with, without } => {
                let found = value.get(text_at(name)).is_some();
                self.todo.push((value, if found { with } else { without }));
                Ok(())
            }
            Shape::ByType { first, count } => {
                let mut all = slice(tables::ALTERNATIVES, first, count).iter();
                let fitting = all.find(|shape| kind_of(at(**shape)) == Some(value.kind()));
                self.must(Rule::SH1, fitting.is_some(), value)?;
                self.todo.extend(fitting.map(|shape| (value, *shape)));
                Ok(())
            }
            _ => value.as_str().map_or(Ok(()), |text| self.text(value, text, shape)),
        }
    }

    fn integer(&self, value: Value<'_>, min: i32, max: i32) -> Result<(), Error> {
        let integer = value.as_int();
        self.must(Rule::SH12, integer.is_some() || value.kind() != Kind::Number, value)?;
        let Some(integer) = integer else { return Ok(()) };
        self.must(Rule::SH13, min == i32::MIN || integer >= i64::from(min), value)?;
        self.must(Rule::SH14, max == i32::MAX || integer <= i64::from(max), value)
    }

    fn object(&mut self, value: Value<'a>, members: &'static [Member], min: u16) -> Result<(), Error> {
        let (mut found, mut missing) = (0_usize, None);
        for Member(name, shape, required) in members.iter().rev() {
            match value.get(text_at(*name)) {
                Some(member) => {
                    found = found.saturating_add(1);
                    self.todo.push((member, *shape));
                }
                None if *required && value.kind() == Kind::Object => missing = Some(text_at(*name)),
                None => {}
            }
        }
        self.must_at(Rule::SH3, found == value.len() || value.kind() != Kind::Object, || stranger(value, members))?;
        self.must_at(Rule::SH2, missing.is_none(), || below(value, missing.unwrap_or_default()))?;
        self.must(Rule::SH18, value.kind() != Kind::Object || value.len() >= usize::from(min), value)
    }

    fn array(&mut self, value: Value<'a>, item: u16, (min, max): (u16, u16), unique: bool) -> Result<(), Error> {
        if value.kind() != Kind::Array {
            return Ok(());
        }
        self.must(Rule::SH15, value.len() >= usize::from(min), value)?;
        self.must(Rule::SH16, max == u16::MAX || value.len() <= usize::from(max), value)?;
        self.must(Rule::SH17, !unique || distinct(value), value)?;
        let start = self.todo.len();
        self.todo.extend(value.items().map(|element| (element, item)));
        if let Some(added) = self.todo.get_mut(start..) {
            added.reverse();
        }
        Ok(())
    }

    fn tagged(&mut self, value: Value<'a>, tag: u16, cases: &'static [(u16, u16)]) -> Result<(), Error> {
        let name = text_at(tag);
        let Some(member) = value.get(name) else {
            return self.must_at(Rule::SH2, value.kind() != Kind::Object, || below(value, name));
        };
        self.must(Rule::SH1, member.kind() == Kind::String, member)?;
        let case = cases.iter().find(|(word, _)| Some(text_at(*word)) == member.as_str());
        self.must(Rule::SH5, case.is_some(), member)?;
        self.todo.extend(case.map(|(_, shape)| (value, *shape)));
        Ok(())
    }

    fn text(&self, value: Value<'_>, it: &str, shape: Shape) -> Result<(), Error> {
        text_rules(shape, it).map_err(|broken| broken.as_code(self.code, value.pointer()))
    }
}

/// The rules of a text's shape, in their order.
fn text_rules(shape: Shape, it: &str) -> Result<(), Broken> {
    let length = |min: u16, max: u16| {
        check(Rule::SH6, text::at_least(it, min))?;
        check(Rule::SH7, text::at_most(it, max))
    };
    match shape {
        Shape::ConstText(word) => check(Rule::SH4, it == text_at(word)),
        Shape::Enum { first, count } => {
            let known = slice(tables::WORDS, first, count).iter().any(|word| text_at(*word) == it);
            check(Rule::SH5, known)
        }
        Shape::Text { min, max } => length(min, max),
        Shape::Identifier { min, max } => {
            length(min, max)?;
            check(Rule::SH9, text::is_plain(it))
        }
        Shape::Base64url { min, max } => {
            length(min, max)?;
            check(Rule::SH10, text::is_base64url(it))
        }
        Shape::Prefixed { prefix, min, max } => check(Rule::SH8, text::is_prefixed(it, text_at(prefix), min, max)),
        Shape::Code { prefix } => check(Rule::SH8, text::is_code(it, text_at(prefix))),
        Shape::Digest => check(Rule::SH8, crate::digest::is_digest(it)),
        Shape::DateTime => check(Rule::SH11, crate::time::parse(it).is_ok()),
        _ => Ok(()),
    }
}

/// The pointer of the first member that is not among `members`.
fn stranger(value: Value<'_>, members: &[Member]) -> String {
    let mut all = value.members();
    let stranger = all.find(|(name, _)| members.iter().all(|Member(known, ..)| text_at(*known) != *name));
    stranger.map_or_else(|| value.pointer(), |(_, member)| member.pointer())
}

/// The pointer of a member that is not there. `name` is one of a schema and needs no escape.
fn below(value: Value<'_>, name: &str) -> String {
    let mut pointer = value.pointer();
    pointer.push('/');
    pointer.push_str(name);
    pointer
}

/// Whether the texts of an array differ. Other elements are faults of their own. Every array that is checked has a
/// small greatest length, which keeps the number of comparisons small, and the component without another sort.
fn distinct(array: Value<'_>) -> bool {
    text::distinct(array.items().filter_map(|item| item.as_str()))
}
