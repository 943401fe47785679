//! One connection over standard input and output, authenticated before it starts.

use crate::connection::{Connection, Output};
use crate::lines::Lines;
use std::io::{self, Read};
use std::sync::{Arc, mpsc};

/// Serves `input` until it ends or somebody asks to stop. Frames being answered then are answered; a frame that arrives
/// later is not read.
pub fn serve<R: Read + Send + 'static>(connection: &Connection<'_>, input: R, output: &Output) -> io::Result<()> {
    let (sender, receiver) = mpsc::sync_channel(1);
    pump(input, sender.clone())?;
    let (stopped, service) = (connection.stop.clone(), Arc::clone(connection.service));
    std::thread::Builder::new().name("stop".to_owned()).spawn(move || {
        stopped.wait();
        service.end_waits();
        // Where the reader holds the queue full, its chunk is served first and then this ends the stream.
        let _ = sender.send(Ok(Vec::new()));
    })?;
    connection.serve(&mut Lines::new(Chunks { receiver, rest: Vec::new(), at: 0, ended: false }), output)
}

type Chunk = io::Result<Vec<u8>>;

/// Reads on a thread of its own, since a read of a terminal or pipe cannot be called off.
fn pump<R: Read + Send + 'static>(mut input: R, sender: mpsc::SyncSender<Chunk>) -> io::Result<()> {
    let read = move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let chunk = match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map(|length| buffer[..length].to_vec()),
            };
            let last = !matches!(&chunk, Ok(bytes) if !bytes.is_empty());
            if sender.send(chunk).is_err() || last {
                return;
            }
        }
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(read).map(drop)
}

/// The chunks as a stream; an empty one ends it.
struct Chunks {
    receiver: mpsc::Receiver<Chunk>,
    rest: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rest.len() && !self.ended {
            self.rest = self.receiver.recv().unwrap_or_else(|_| Ok(Vec::new()))?;
            self.at = 0;
            self.ended = self.rest.is_empty();
        }
        let part = &self.rest[self.at..];
        let length = part.len().min(buffer.len());
        buffer[..length].copy_from_slice(&part[..length]);
        self.at += length;
        Ok(length)
    }
}
