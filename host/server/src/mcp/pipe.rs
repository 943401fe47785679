//! The pipe between a client and the MCP server: lines, each a message.

use super::frames::{Split, Taken, UnderWay};
use crate::lines::{Line, Lines};
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;
use threadmesh_runtime::rpc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};

/// The longest line; one that is longer ends the session. What may be a message is the core's to say.
const LINE_BYTES_MAX: usize = 2 << 20;
/// Lines on their way to the server, and answers of the pipe's own, at once.
const QUEUE: usize = 16;
/// How long requests may take that are under way when the input ends. Waits end at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads lines of a client on a thread that may block.
struct Reader {
    split: Split,
    under_way: Arc<UnderWay>,
    to_server: mpsc::Sender<String>,
    to_client: mpsc::Sender<String>,
    /// Whether a request has gone on: until then the server takes nothing else.
    begun: bool,
}

impl Reader {
    /// Until the input ends, or nobody listens any more.
    fn run<R: Read>(&mut self, input: R) -> io::Result<()> {
        let mut lines = Lines::new(input);
        loop {
            let told = match lines.next(LINE_BYTES_MAX)? {
                Line::Text(line) => self.take(&line),
                Line::NotUtf8 => self.answer(rpc::fault("json-encoding", "a line is not UTF-8")),
                Line::TooLong => {
                    let detail = format!("a line is longer than {LINE_BYTES_MAX} bytes; nothing after it is read");
                    self.answer(rpc::fault("json-size", &detail));
                    None
                }
                Line::End => None,
            };
            if told.is_none() {
                return Ok(());
            }
        }
    }

    /// Passes a message on, or answers it. Nothing where nobody listens any more.
    fn take(&mut self, line: &str) -> Option<()> {
        let frame = match (self.split)(line) {
            Ok(frame) => frame,
            Err(error) => return self.answer(rpc::respond("null", &rpc::Answer::Error(error))),
        };
        let request = frame.calls.iter().any(|call| call.id.is_some());
        match self.under_way.take(&frame, line) {
            Taken::Goes(_) if !self.begun && !request => Some(()),
            Taken::Goes(messages) => {
                self.begun = true;
                messages.into_iter().try_for_each(|message| self.to_server.blocking_send(message).ok())
            }
            Taken::Answered(text) => self.answer(text),
            Taken::Dropped => Some(()),
        }
    }

    fn answer(&self, text: String) -> Option<()> {
        self.to_client.blocking_send(text).ok()
    }
}

/// Carries lines between a client and a server until the client's input ends and everything is answered; `server` is the
/// other end of what the server reads and writes. `ending` becomes true when the input has ended, so that nothing waits
/// any longer. The result says whether the client asked for anything. Errors: the client cannot be read or written.
pub async fn carry<R, W, S>(
    input: R,
    mut output: W,
    server: S,
    split: Split,
    ending: watch::Sender<bool>,
) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let under_way = Arc::new(UnderWay::default());
    let (to_server, mut lines) = mpsc::channel::<String>(QUEUE);
    let (to_client, mut answers) = mpsc::channel::<String>(QUEUE);
    let mut reader = Reader { split, under_way: Arc::clone(&under_way), to_server, to_client, begun: false };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let read = reader.run(input);
        ending.send_replace(true);
        // The server gives up what it has not answered when its input ends.
        reader.under_way.settle(PATIENCE);
        read
    })?;
    let (from, mut to) = tokio::io::split(server);
    let passing = tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            to.write_all(format!("{line}\n").as_bytes()).await?;
            to.flush().await?;
        }
        to.shutdown().await
    });
    let mut said = BufReader::new(from).lines();
    let mut answering = true;
    loop {
        let line = tokio::select! {
            line = said.next_line() => match line? {
                Some(line) => under_way.answered(&line),
                None => break,
            },
            answer = answers.recv(), if answering => match answer {
                Some(answer) => answer,
                None => {
                    answering = false;
                    continue;
                }
            },
        };
        write(&mut output, &line).await?;
    }
    passing.abort();
    for line in under_way.give_up("jsonrpc-invalid", "the session has ended: begin one with initialize") {
        write(&mut output, &line).await?;
    }
    while let Ok(line) = answers.try_recv() {
        write(&mut output, &line).await?;
    }
    Ok(())
}

async fn write<W: AsyncWrite + Unpin>(output: &mut W, line: &str) -> io::Result<()> {
    output.write_all(format!("{line}\n").as_bytes()).await?;
    output.flush().await
}
