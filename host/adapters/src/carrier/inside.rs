//! The carrier's own side: a process with this one duty.

use super::{KILL_MS, Order, Report, procs, report_line};
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait},
};
use std::{
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// The longest order: an envelope, twice escaped.
const ORDER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long processes of a program that has exited may finish by themselves.
const LINGER: Duration = Duration::from_millis(200);
/// The pause between two rounds of killing.
const ROUND: Duration = Duration::from_millis(20);

enum Event {
    /// The program itself is over.
    Exited(WaitStatus),
    /// There is no child any more, and so no descendant.
    Empty,
    /// More output than allowed.
    Flooded,
}

/// Runs one order. The exit status of the carrier says only whether there is a report.
pub(super) fn main() -> i32 {
    let mut text = String::new();
    if io::stdin().take(ORDER_BYTES_MAX).read_to_string(&mut text).is_err() {
        return 2;
    }
    let Ok(order) = serde_json::from_str::<Order>(&text) else { return 2 };
    let report = run(&order);
    let mut stdout = io::stdout().lock();
    let line = report_line(&order.nonce, &report);
    i32::from(stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err())
}

fn run(order: &Order) -> Report {
    let deadline = Instant::now() + Duration::from_millis(order.deadline_ms);
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(getpid())) {
        return Report { error: format!("no child subreaper: {error}"), empty: true, ..Report::default() };
    }
    let child = match spawn(order) {
        Ok(child) => child,
        Err(error) => return Report { error: error.to_string(), empty: true, ..Report::default() },
    };
    Run::start(order, child).finish(deadline)
}

fn spawn(order: &Order) -> io::Result<Child> {
    let mut command = Command::new(&order.program);
    command.args(&order.args).env_clear().envs(&order.env);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = &order.cwd {
        command.current_dir(cwd);
    }
    // Its own group: `kill 0` in the program must not reach the carrier.
    command.process_group(0).spawn()
}

/// A program under way.
struct Run<'a> {
    order: &'a Order,
    events: Receiver<Event>,
    stdout: Arc<Mutex<Vec<u8>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    readers: Vec<thread::JoinHandle<()>>,
    report: Report,
}

impl<'a> Run<'a> {
    fn start(order: &'a Order, mut child: Child) -> Self {
        let (tell, events) = channel();
        let (stdout, stderr) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            let (sink, tell, max) = (Arc::clone(&stdout), tell.clone(), order.stdout_max);
            readers.push(thread::spawn(move || read_head(pipe, &sink, max, &tell)));
        }
        if let Some(pipe) = child.stderr.take() {
            let (sink, max) = (Arc::clone(&stderr), order.stderr_max);
            readers.push(thread::spawn(move || read_tail(pipe, &sink, max)));
        }
        if let Some(mut pipe) = child.stdin.take() {
            let input = order.input.clone().into_bytes();
            // A program that does not read its input blocks this thread only.
            thread::spawn(move || pipe.write_all(&input));
        }
        let main = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        thread::spawn(move || reap(main, &tell));
        Self { order, events, stdout, stderr, readers, report: Report { started: true, ..Report::default() } }
    }

    fn finish(mut self, deadline: Instant) -> Report {
        match self.wait_for_exit(deadline) {
            // Gone, and nothing left: the ordinary case.
            true if self.wait_for_empty(Instant::now() + LINGER) => {}
            true => {
                self.report.left_behind = procs::descendants().len();
                self.terminate();
            }
            false => self.terminate(),
        }
        if self.report.empty {
            // Every writer is dead, so the pipes end.
            self.readers.drain(..).for_each(|reader| drop(reader.join()));
        }
        // A program may be gone before what it printed is read: what it printed too much is told after its end.
        self.report.flooded |= self.events.try_iter().any(|event| matches!(event, Event::Flooded));
        self.report.stdout = String::from_utf8(take(&self.stdout)).ok();
        self.report.stderr = String::from_utf8_lossy(&take(&self.stderr)).into_owned();
        self.report
    }

    /// Waits until the program is over by itself. `false`: its time is up, or it printed too much.
    fn wait_for_exit(&mut self, deadline: Instant) -> bool {
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Exited(status)) => {
                    self.exited(status);
                    return true;
                }
                Ok(Event::Flooded) => {
                    self.report.flooded = true;
                    return false;
                }
                Ok(Event::Empty) => self.report.empty = true,
                Err(_) => {
                    self.report.timed_out = true;
                    return false;
                }
            }
        }
    }

    fn wait_for_empty(&mut self, until: Instant) -> bool {
        while !self.report.empty {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Exited(status)) => self.exited(status),
                Ok(Event::Empty) => self.report.empty = true,
                Ok(Event::Flooded) => self.report.flooded = true,
                Err(_) => return false,
            }
        }
        true
    }

    /// Ends every descendant: asks first, then kills until none is left or the time for it is over.
    fn terminate(&mut self) {
        procs::signal_all(&procs::descendants(), Signal::TERM);
        if self.wait_for_empty(Instant::now() + Duration::from_millis(self.order.grace_ms)) {
            return;
        }
        let end = Instant::now() + Duration::from_millis(KILL_MS);
        while Instant::now() < end {
            procs::signal_all(&procs::descendants(), Signal::KILL);
            if self.wait_for_empty(Instant::now() + ROUND) {
                return;
            }
        }
    }

    fn exited(&mut self, status: WaitStatus) {
        self.report.exit = status.exit_status();
        self.report.signal = status.terminating_signal();
    }
}

/// Reaps every child, also those that became ours when their parents died, until there is none.
fn reap(main: Option<Pid>, tell: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == main => drop(tell.send(Event::Exited(status))),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => {
                let _ = tell.send(Event::Empty);
                return;
            }
        }
    }
}

/// Keeps the first `max` bytes and reports the first byte too many.
fn read_head(mut pipe: impl Read, sink: &Mutex<Vec<u8>>, max: usize, tell: &Sender<Event>) {
    let mut buffer = [0_u8; 16 * 1024];
    while let Ok(count) = pipe.read(&mut buffer) {
        if count == 0 {
            return;
        }
        let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() + count > max {
            let _ = tell.send(Event::Flooded);
            return;
        }
        kept.extend_from_slice(&buffer[..count]);
    }
}

/// Keeps the last `max` bytes.
fn read_tail(mut pipe: impl Read, sink: &Mutex<Vec<u8>>, max: usize) {
    let mut buffer = [0_u8; 16 * 1024];
    while let Ok(count) = pipe.read(&mut buffer) {
        if count == 0 {
            return;
        }
        let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(max);
        kept.drain(..surplus);
    }
}

fn take(bytes: &Mutex<Vec<u8>>) -> Vec<u8> {
    std::mem::take(&mut bytes.lock().unwrap_or_else(PoisonError::into_inner))
}
