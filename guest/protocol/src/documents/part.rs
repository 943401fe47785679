//! A value whose members are read by path, and the code under which its faults are reported.

use crate::json::Value;
use crate::{Code, Error, Rule, rules, time};
use alloc::string::String;

/// A document, or a part of one. Paths are JSON Pointers of names without escapes (`/sender/taskId`), relative to it.
/// What is not there, or has another type, reads as empty.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    value: Value<'a>,
    code: Code,
}

impl<'a> Part<'a> {
    /// `value`, whose faults have `code`.
    pub(crate) fn new(value: Value<'a>, code: Code) -> Self {
        Self { value, code }
    }

    /// The value itself.
    pub fn value(&self) -> Value<'a> {
        self.value
    }

    /// The value at `path`.
    pub fn get(&self, path: &str) -> Option<Value<'a>> {
        path.split('/').skip(1).try_fold(self.value, |value, name| value.get(name))
    }

    /// Whether there is a value at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    /// The text at `path`; empty if there is none.
    pub fn text(&self, path: &str) -> &'a str {
        self.text_opt(path).unwrap_or_default()
    }

    /// The text at `path`.
    pub fn text_opt(&self, path: &str) -> Option<&'a str> {
        self.get(path)?.as_str()
    }

    /// The integer at `path`.
    pub fn int(&self, path: &str) -> Option<i64> {
        self.get(path)?.as_int()
    }

    /// Whether `true` stands at `path`.
    pub fn is_true(&self, path: &str) -> bool {
        self.get(path).and_then(|value| value.as_bool()) == Some(true)
    }

    /// The time at `path`, in milliseconds since the Unix epoch.
    pub fn time(&self, path: &str) -> Option<i64> {
        time::parse(self.text_opt(path)?).ok()
    }

    /// The elements of the array at `path`; nothing if there is none.
    pub fn items(&self, path: &str) -> impl Iterator<Item = Value<'a>> + use<'a> {
        self.get(path).into_iter().flat_map(|array| array.items())
    }

    /// Whether the array at `path` has the text `word`.
    pub fn lists(&self, path: &str, word: &str) -> bool {
        self.items(path).any(|item| item.as_str() == Some(word))
    }

    /// Whether the array at `path` has one of the texts `words`.
    pub(crate) fn lists_any(&self, path: &str, words: &[&str]) -> bool {
        words.iter().any(|word| self.lists(path, word))
    }

    /// Whether the text at `path` is one of `words`.
    pub(crate) fn is(&self, path: &str, words: &[&str]) -> bool {
        self.text_opt(path).is_some_and(|text| words.contains(&text))
    }

    /// `value` under the same code.
    pub(crate) fn with(&self, value: Value<'a>) -> Self {
        Self::new(value, self.code)
    }

    /// The part at `path`, under the same code.
    pub(crate) fn part(&self, path: &str) -> Option<Self> {
        self.get(path).map(|value| self.with(value))
    }

    /// The elements of the array at `path`, under the same code.
    pub(crate) fn parts(&self, path: &str) -> impl Iterator<Item = Self> + use<'a> {
        let code = self.code;
        self.items(path).map(move |value| Self::new(value, code))
    }

    /// Whether the task incarnations at both paths are the same one. Harness labels do not count.
    pub(crate) fn same_task(&self, left: &str, right: &str) -> bool {
        let task = |path| self.part(path).map(|part| (part.text("/taskId"), part.text("/incarnationId")));
        task(left) == task(right)
    }

    /// The error of `rule` at `path` unless it `holds`.
    pub(crate) fn must(&self, rule: Rule, holds: bool, path: &str) -> Result<(), Error> {
        rules::check(rule, holds).map_err(|broken| {
            let mut pointer: String = self.value.pointer();
            pointer.push_str(path);
            broken.as_code(self.code, pointer)
        })
    }

    /// The error of `rule` at the second path unless the first time is there and before (`strict`) or not after the
    /// second. A time that is not there breaks nothing.
    pub(crate) fn in_order(&self, rule: Rule, strict: bool, first: &str, second: &str) -> Result<(), Error> {
        let ordered = match (self.time(first), self.time(second)) {
            (Some(first), Some(second)) => first < second || (!strict && first == second),
            _ => true,
        };
        self.must(rule, ordered, second)
    }
}
