//! Writing a row.

use crate::json::writer::{push_integer, push_string};
use alloc::string::String;

/// Room for most rows.
const ROOM: usize = 1024;

/// Writes members in the order of the calls.
pub(crate) struct Writer {
    out: String,
}

impl Writer {
    /// With nothing in it.
    pub fn new() -> Self {
        Self { out: String::with_capacity(ROOM) }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.out
    }

    /// An object.
    pub fn row<T>(&mut self, record: &T, members: fn(&T, &mut Self)) {
        self.out.push('{');
        members(record, self);
        self.out.push('}');
    }

    /// A text.
    pub fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        push_string(&mut self.out, text);
    }

    /// A text where there is one.
    pub fn maybe_text(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// An integer.
    pub fn integer(&mut self, name: &'static str, integer: i64) {
        self.name(name);
        push_integer(&mut self.out, integer);
    }

    /// An integer where there is one.
    pub fn maybe_integer(&mut self, name: &'static str, integer: Option<i64>) {
        if let Some(integer) = integer {
            self.integer(name, integer);
        }
    }

    /// A flag.
    pub fn flag(&mut self, name: &'static str, flag: bool) {
        self.name(name);
        self.out.push_str(if flag { "true" } else { "false" });
    }

    /// A flag where there is one.
    pub fn maybe_flag(&mut self, name: &'static str, flag: Option<bool>) {
        if let Some(flag) = flag {
            self.flag(name, flag);
        }
    }

    /// A document as it is.
    pub fn document(&mut self, name: &'static str, document: &str) {
        self.name(name);
        self.out.push_str(document);
    }

    /// A document where there is one.
    pub fn maybe_document(&mut self, name: &'static str, document: Option<&str>) {
        if let Some(document) = document {
            self.document(name, document);
        }
    }

    /// A word of a closed set, which needs no escapes.
    pub fn word(&mut self, name: &'static str, word: &'static str) {
        self.name(name);
        self.out.push('"');
        self.out.push_str(word);
        self.out.push('"');
    }

    /// An object.
    pub fn object<T>(&mut self, name: &'static str, record: &T, members: fn(&T, &mut Self)) {
        self.name(name);
        self.row(record, members);
    }

    /// An object where there is one.
    pub fn maybe_object<T>(&mut self, name: &'static str, record: Option<&T>, members: fn(&T, &mut Self)) {
        if let Some(record) = record {
            self.object(name, record, members);
        }
    }

    /// A list of texts.
    pub fn texts(&mut self, name: &'static str, texts: &[String]) {
        self.list(name, texts, |writer, text| push_string(&mut writer.out, text));
    }

    /// A list of objects.
    pub fn objects<T>(&mut self, name: &'static str, records: &[T], members: fn(&T, &mut Self)) {
        self.list(name, records, |writer, record| writer.row(record, members));
    }

    fn list<T>(&mut self, name: &'static str, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.name(name);
        self.out.push('[');
        for (place, value) in items.iter().enumerate() {
            if place > 0 {
                self.out.push(',');
            }
            item(self, value);
        }
        self.out.push(']');
    }

    /// The first member of an object has no comma before it.
    fn name(&mut self, name: &'static str) {
        let first = self.out.as_bytes().last() == Some(&b'{');
        self.out.push_str(name.get(usize::from(first)..).unwrap_or_default());
    }
}
