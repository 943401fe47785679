//! Requests that never become a frame.

use super::Web;
use crate::differential::logs::Random;
use crate::surface::breaking::FRAME_BYTES_MAX;

impl Web<'_> {
    /// A request that HTTP allows and the server does not.
    pub(super) fn request_that_is_none(&mut self, random: &mut Random) {
        self.tally.sent("refused request", false);
        let (_, token) = self.somebody(random);
        let json = ("content-type", "application/json");
        let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{}}"#;
        let long = "x".repeat(40_000);
        let many: Vec<(&str, &str)> = (0..80).map(|_| ("x-more", "1")).collect();
        let (bytes, status): (Vec<u8>, u16) = match random.below(20) {
            0 => (self.request("POST /rpc", &token, &[("content-type", "text/plain")], frame), 415),
            1 => (self.request("POST /rpc", &token, &[], frame), 415),
            2 => (self.request("POST /rpc", &token, &[json, json], frame), 415),
            3 => {
                (self.request("POST /rpc", &token, &[("content-type", "application/json; charset=utf-16")], frame), 415)
            }
            4 => (self.request("POST /rpc", &token, &[json, ("content-encoding", "gzip")], frame), 415),
            5 => (self.request("POST /rpc?a=1", &token, &[json], frame), 400),
            6 => (self.request("POST /rpc", "wrong", &[json], frame), 401),
            7 => (self.request("POST /rpc", &token, &[json, ("authorization", "Bearer x")], frame), 401),
            8 => (self.request("POST /rpc", &token, &[json, ("origin", "https://example.invalid")], frame), 403),
            9 => (self.request("POST /rpc", &token, &[json, ("host", "example.invalid")], frame), 421),
            10 => (self.request("GET /rpc", &token, &[json], b""), 405),
            11 => (self.request("POST /nothing", &token, &[json], frame), 404),
            12 => (self.request("POST /rpc", &token, &[json, ("x-long", &long)], frame), 431),
            13 => (self.request("POST /rpc", &token, &many, frame), 431),
            14 => (self.rpc(&token, &vec![b' '; FRAME_BYTES_MAX + 1 + random.below(99)]), 413),
            15 => (self.rpc(&token, b"\"\xff\xfe\""), 400),
            16 => (self.request("GET /events", &token, &[], b""), 400),
            17 => (self.request("GET /events?taskId=%ff&incarnationId=x&after=-1", &token, &[], b""), 400),
            18 => (self.request("GET /events?taskId=a&incarnationId=inc_none0000&token=x", &token, &[], b""), 400),
            _ => (self.request("DELETE /health/ready", &token, &[], b""), 405),
        };
        let got = self.once(&bytes, false);
        // The server may end a connection before it has read all of a long body, and then there may be no answer.
        if got.status != status && !(got.status == 0 && bytes.len() > FRAME_BYTES_MAX) {
            self.tally.fault(&format!("{status} was due, {} came", got.status), &bytes, &got.body);
        }
    }

    /// Bytes that are no request, or not a whole one: 400 or another refusal, or an end without an answer.
    pub(super) fn bytes_that_are_none(&mut self, random: &mut Random) {
        self.tally.sent("no HTTP", false);
        let (_, token) = self.somebody(random);
        let whole = self.rpc(&token, br#"{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{}}"#);
        let host = self.address;
        let head = format!(
            "POST /rpc HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        );
        let bytes = match random.below(9) {
            0 => whole[..random.below(whole.len())].to_vec(),
            1 => (0..200).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect(),
            2 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
            3 => format!("{head}content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef").into_bytes(),
            4 => format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n").into_bytes(),
            5 => format!("{head}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nabc").into_bytes(),
            6 => format!("{head}content-length: -1\r\n\r\n").into_bytes(),
            7 => head.replace("HTTP/1.1", "HTTP/7.3").into_bytes(),
            _ => format!("{head}bad header\r\n\u{0}: 1\r\n\r\n").into_bytes(),
        };
        let got = self.once(&bytes, true);
        if (200..400).contains(&got.status) {
            self.tally.fault("what is no request was answered", &bytes, &got.body);
        }
    }
}
