//! Messages between a client and the MCP library, as text.
//!
//! The core's parser decides what is a message, as on every transport, and what it refuses is answered here. Clients may
//! use one id for any number of calls, also at once; the library tells calls apart by nothing but their ids. So each
//! request goes on under an id of its own, `number:the client's`, and is answered under the client's.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use threadmesh_runtime::rpc::{self, Answer, Frame, Refusal, Response};

/// Cuts a text into its calls, as [`crate::service::Service::split`] does.
pub type Split = std::sync::Arc<dyn Fn(&str) -> Result<Frame, String> + Send + Sync>;

/// What becomes of a message of the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// It goes on: as these messages, for a cancellation one for each call that it may mean.
    Goes(Vec<String>),
    /// It is answered with this, and goes nowhere.
    Answered(String),
    /// It is no request, and nobody needs it.
    Dropped,
}

/// The requests of one session that are under way.
#[derive(Default)]
pub struct UnderWay {
    next: AtomicU64,
    /// The numbers by the raw text of the client's id.
    numbers: Mutex<HashMap<String, Vec<u64>>>,
    empty: Condvar,
}

impl UnderWay {
    /// What becomes of a message that the core cut into `frame`.
    pub fn take(&self, frame: &Frame, text: &str) -> Taken {
        let [call] = frame.calls.as_slice() else { return none_of_many(frame) };
        if frame.batch {
            return none_of_many(frame);
        }
        if let Some(ready) = &call.response {
            return if is_response(text) { Taken::Dropped } else { Taken::Answered(ready.clone()) };
        }
        match &call.id {
            Some(id) => Taken::Goes(vec![rpc::request(&self.enter(id), &call.method, &call.params)]),
            None if call.method == "notifications/cancelled" => Taken::Goes(self.cancel(&call.params)),
            None => Taken::Goes(vec![rpc::notification(&call.method, &call.params)]),
        }
    }

    /// Takes note of a request: the id that it goes on under, as JSON text.
    fn enter(&self, id: &str) -> String {
        let number = self.next.fetch_add(1, Relaxed);
        self.numbers().entry(id.to_owned()).or_default().push(number);
        Value::from(format!("{number}:{id}")).to_string()
    }

    /// The request under this inner id is answered, or nobody waits for it any more.
    pub fn leave(&self, inner: &str) {
        let Some((number, id)) = parts(inner) else { return };
        let mut numbers = self.numbers();
        if let Some(known) = numbers.get_mut(id) {
            known.retain(|known| *known != number);
            if known.is_empty() {
                numbers.remove(id);
            }
        }
        if numbers.is_empty() {
            self.empty.notify_all();
        }
    }

    /// The cancellations of the calls that `params` may mean: all that have this id. They are not answered.
    fn cancel(&self, params: &str) -> Vec<String> {
        let Ok(Value::Object(mut members)) = serde_json::from_str::<Value>(params) else { return Vec::new() };
        let id = raw(params, "requestId").unwrap_or_default();
        let cancelled = self.numbers().remove(&id).unwrap_or_default();
        if self.numbers().is_empty() {
            self.empty.notify_all();
        }
        let one = |number: u64| {
            members.insert("requestId".to_owned(), format!("{number}:{id}").into());
            rpc::notification("notifications/cancelled", &Value::Object(members.clone()).to_string())
        };
        cancelled.into_iter().map(one).collect()
    }

    /// A message of the library as the client is to see it: under its own id, and errors in the form of all others.
    pub fn answered(&self, line: &str) -> String {
        let Some(Response { id, answer }) = Response::read(line) else { return line.to_owned() };
        let Ok(inner) = serde_json::from_str::<String>(&id) else { return line.to_owned() };
        let Some((_, own)) = parts(&inner) else { return line.to_owned() };
        self.leave(&inner);
        rpc::respond(own, &told(answer))
    }

    /// Answers of `code` for all requests that are under way: whoever should have answered them is gone.
    pub fn give_up(&self, code: &str, detail: &str) -> Vec<String> {
        let numbers = std::mem::take(&mut *self.numbers());
        self.empty.notify_all();
        let answer = Answer::Error(rpc::error(code, detail));
        let answers = numbers.iter().flat_map(|(id, all)| all.iter().map(|_| rpc::respond(id, &answer)));
        answers.collect()
    }

    /// Waits until nothing is under way, at most for `patience`.
    pub fn settle(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut numbers = self.numbers();
        while !numbers.is_empty() {
            let Some(left) = end.checked_duration_since(Instant::now()) else { return };
            numbers = self.empty.wait_timeout(numbers, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn numbers(&self) -> MutexGuard<'_, HashMap<String, Vec<u64>>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client's id in an inner one, as raw JSON text.
pub fn own_id(inner: &str) -> &str {
    parts(inner).map_or(inner, |(_, id)| id)
}

fn parts(inner: &str) -> Option<(u64, &str)> {
    let (number, id) = inner.split_once(':')?;
    Some((number.parse().ok()?, id))
}

fn none_of_many(frame: &Frame) -> Taken {
    let error = rpc::error("jsonrpc-invalid", "messages of MCP come one by one, not in a batch");
    rpc::refuse(frame, &error).map_or(Taken::Dropped, Taken::Answered)
}

/// Whether a text is the answer to a request of the server. It makes none, so that nobody waits for one.
fn is_response(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Peek<'a> {
        #[serde(borrow)]
        method: Option<&'a RawValue>,
    }
    let asks = serde_json::from_str::<Peek<'_>>(text).is_ok_and(|peek| peek.method.is_some());
    !asks && Response::read(text).is_some()
}

/// The raw text of a member.
fn raw(object: &str, name: &str) -> Option<String> {
    let members: HashMap<String, Box<RawValue>> = serde_json::from_str(object).ok()?;
    members.get(name).map(|value| value.get().to_owned())
}

/// An answer of the library; an error that says only a number and a sentence gets the code of spec/errors.md.
fn told(answer: Answer) -> Answer {
    let Answer::Error(text) = &answer else { return answer };
    let error: Value = serde_json::from_str(text).unwrap_or_default();
    let code = match error["code"].as_i64() {
        Some(-32601) => "method-not-found",
        Some(-32602) => "params-invalid",
        Some(-32600) => "jsonrpc-invalid",
        _ => return answer,
    };
    match error.get("data").is_none_or(Value::is_null) && Refusal::read(text).pointer.is_empty() {
        true => Answer::Error(rpc::error(code, error["message"].as_str().unwrap_or_default())),
        false => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadmesh_runtime::rpc::Call;

    fn single(id: Option<&str>, method: &str, params: &str) -> Frame {
        let call = Call { id: id.map(str::to_owned), method: method.into(), params: params.into(), response: None };
        Frame { batch: false, calls: vec![call] }
    }

    fn goes(under_way: &UnderWay, frame: &Frame) -> Vec<Value> {
        let Taken::Goes(all) = under_way.take(frame, "") else { panic!("it goes on") };
        all.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
    }

    #[test]
    fn two_requests_under_one_id_are_told_apart_and_answered_under_it() {
        let under_way = UnderWay::default();
        let inner: Vec<Value> = ["1", "1", "\"1\""]
            .iter()
            .map(|id| goes(&under_way, &single(Some(id), "tools/call", "{}"))[0]["id"].clone())
            .collect();
        assert_eq!(inner, ["0:1", "1:1", "2:\"1\""]);
        let answer =
            |inner: &str| under_way.answered(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{inner:?},\"result\":7}}"));
        assert_eq!(answer("1:1"), r#"{"jsonrpc":"2.0","id":1,"result":7}"#);
        assert_eq!(answer("2:\"1\""), r#"{"jsonrpc":"2.0","id":"1","result":7}"#);
        assert_eq!(under_way.numbers().len(), 1);
        assert_eq!(answer("0:1"), r#"{"jsonrpc":"2.0","id":1,"result":7}"#);
        assert!(under_way.numbers().is_empty());
        assert_eq!((own_id("12:\"a:b\""), own_id("7")), ("\"a:b\"", "7"));
    }

    #[test]
    fn a_cancellation_reaches_every_call_under_the_id() {
        let under_way = UnderWay::default();
        (0..2).for_each(|_| drop(goes(&under_way, &single(Some("1"), "tools/call", "{}"))));
        let told = goes(&under_way, &single(None, "notifications/cancelled", r#"{"requestId": 1, "reason": "x"}"#));
        let ids: Vec<&Value> = told.iter().map(|told| &told["params"]["requestId"]).collect();
        assert_eq!(ids, ["0:1", "1:1"]);
        assert_eq!(told[0]["params"]["reason"], "x");
        assert!(under_way.numbers().is_empty(), "nobody answers them");
        assert_eq!(goes(&under_way, &single(None, "notifications/cancelled", "{}")), Vec::<Value>::new());
    }

    #[test]
    fn what_is_no_request_is_answered_or_dropped() {
        let under_way = UnderWay::default();
        let faulty = |ready: &str| {
            let mut frame = single(Some("5"), "", "");
            frame.calls[0].response = Some(ready.to_owned());
            frame
        };
        assert_eq!(under_way.take(&faulty("ready"), "no json"), Taken::Answered("ready".to_owned()));
        assert_eq!(under_way.take(&faulty("x"), r#"{"jsonrpc":"2.0","id":5,"result":{}}"#), Taken::Dropped);
        assert_eq!(under_way.take(&faulty("y"), r#"{"id":5,"method":"a","result":{}}"#), Taken::Answered("y".into()));
        let batch = Frame { batch: true, ..single(Some("5"), "ping", "{}") };
        let Taken::Answered(told) = under_way.take(&batch, "") else { panic!("refused") };
        assert!(told.starts_with('[') && told.contains("jsonrpc-invalid"), "{told}");
        assert!(under_way.numbers().is_empty());
    }

    #[test]
    fn errors_of_the_library_take_the_form_of_all_others() {
        let error = |error: &str| {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"0:1\",\"error\":{error}}}");
            let told = Response::read(&UnderWay::default().answered(&line)).expect("a response");
            let Answer::Error(text) = told.answer else { panic!("an error") };
            text
        };
        let refusal = Refusal::read(&error(r#"{"code":-32601,"message":"no/such"}"#));
        assert_eq!((refusal.code.as_str(), refusal.detail.as_str()), ("method-not-found", "no/such"));
        let known = r#"{"code":-32602,"message":"m","data":{"supported":[]}}"#;
        assert_eq!(error(known), known, "what says more is passed on");
    }

    #[test]
    fn what_nobody_answers_any_more_is_given_up() {
        let under_way = UnderWay::default();
        (0..2).for_each(|_| drop(goes(&under_way, &single(Some("1"), "tools/call", "{}"))));
        assert_eq!(under_way.give_up("backpressure", "").len(), 2);
        under_way.settle(Duration::from_secs(60));
    }
}
