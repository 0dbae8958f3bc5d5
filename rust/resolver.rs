//! Host names to addresses, with a deadline, and the way to an address.

use std::cell::RefCell;
use std::collections::btree_map::{BTreeMap, Entry};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a patient resolver waits before it asks again.
const RETRY: Duration = Duration::from_millis(250);

/// How often a waiting look-up asks whether the user has interrupted the program.
const INTERRUPT_POLL: Duration = Duration::from_millis(50);

/// What the plan asks of the system beyond the table of interfaces. Tests answer in its place.
pub trait Resolver {
    /// The addresses of `host` in the resolver's order, without repeats.
    ///
    /// # Errors
    /// The resolver's own answer, for people.
    fn lookup(&self, host: &str) -> Result<Vec<IpAddr>, String>;

    /// Ask for these hosts at once, since they will be looked up one after the other.
    fn ask_early(&self, _hosts: &[&str]) {}

    /// Whether the deadline has passed: then a look-up that failed says nothing of the name.
    fn is_late(&self) -> bool {
        false
    }

    /// The source address this node would use towards `target`; `None` where there is no route.
    fn source_to(&self, target: IpAddr) -> Option<IpAddr>;
}

/// The system's resolver: nsswitch, `/etc/hosts`, sssd and DNS behave as they do in torch.
///
/// All look-ups of one resolver share one deadline, and no name is asked for twice. A look-up that is still running at the
/// deadline is left behind on its thread: getaddrinfo(3) cannot be cancelled.
pub struct SystemResolver<F> {
    patient: bool,
    timeout: Duration,
    deadline: Instant,
    interrupted: F,
    asked: RefCell<BTreeMap<String, Asked>>,
}

type Answer = Result<Vec<IpAddr>, String>;

/// A name that was asked for.
enum Asked {
    Waiting(Receiver<Answer>),
    Answered(Answer),
}

impl<F: Fn() -> bool> SystemResolver<F> {
    /// A resolver whose look-ups together take at most `timeout`. `interrupted` is asked from time to time whether to
    /// stop waiting.
    pub fn new(timeout: Duration, interrupted: F) -> Self {
        Self::with_patience(timeout, false, interrupted)
    }

    /// Such a resolver, which with `patient` asks again until the deadline where a name is not known: where nodes are
    /// started one by one, the host's name may come later than this node.
    pub fn with_patience(timeout: Duration, patient: bool, interrupted: F) -> Self {
        let now = Instant::now();
        let deadline = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(86_400));
        Self { patient, timeout, deadline, interrupted, asked: RefCell::default() }
    }
}

impl<F: Fn() -> bool> Resolver for SystemResolver<F> {
    fn lookup(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        if let Ok(ip) = host.parse() {
            return Ok(vec![ip]);
        }
        loop {
            let answer = self.ask(host);
            let left = self.deadline.saturating_duration_since(Instant::now());
            if answer.is_ok() || !self.patient || left.is_zero() || (self.interrupted)() {
                return answer;
            }
            thread::sleep(left.min(RETRY));
            self.asked.borrow_mut().remove(host);
        }
    }

    fn ask_early(&self, hosts: &[&str]) {
        let mut asked = self.asked.borrow_mut();
        for host in hosts.iter().filter(|host| host.parse::<IpAddr>().is_err()) {
            if let Entry::Vacant(place) = asked.entry((*host).to_owned()) {
                place.insert(start(host));
            }
        }
    }

    fn is_late(&self) -> bool {
        self.deadline <= Instant::now()
    }

    fn source_to(&self, target: IpAddr) -> Option<IpAddr> {
        // connect(2) on a UDP socket sends nothing; it only looks up the route.
        let any: IpAddr = if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
        socket.connect(SocketAddr::new(target, 9)).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    }
}

impl<F: Fn() -> bool> SystemResolver<F> {
    /// The system's answer; without one, it is waited for until the deadline.
    fn ask(&self, host: &str) -> Answer {
        let mut asked = self.asked.borrow_mut();
        let asked = asked.entry(host.to_owned()).or_insert_with(|| start(host));
        let answer = match asked {
            Asked::Answered(answer) => return answer.clone(),
            Asked::Waiting(receiver) => self.wait(receiver)?,
        };
        *asked = Asked::Answered(answer.clone());
        answer
    }

    /// The answer, or in the outer result why there is none yet.
    fn wait(&self, receiver: &Receiver<Answer>) -> Result<Answer, String> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left.min(INTERRUPT_POLL)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err("the look-up ended without an answer".into()),
                Err(RecvTimeoutError::Timeout) if (self.interrupted)() => return Err("interrupted".into()),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(format!("no answer within {} s", self.timeout.as_secs_f64()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// One question to the system, on a thread of its own.
fn start(host: &str) -> Asked {
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    let thread = thread::Builder::new().name("resolve".into()).spawn(move || {
        // The receiver may be gone after its deadline.
        let _ = sender.send(system_lookup(&name));
    });
    match thread {
        Ok(_) => Asked::Waiting(receiver),
        Err(error) => Asked::Answered(Err(error.to_string())),
    }
}

fn system_lookup(host: &str) -> Answer {
    let answers = (host, 0).to_socket_addrs().map_err(|error| plain(&error.to_string()))?;
    let mut addresses = Vec::new();
    for ip in answers.map(|answer| answer.ip()) {
        if !addresses.contains(&ip) {
            addresses.push(ip);
        }
    }
    Ok(addresses)
}

/// The resolver's words without std's preface.
fn plain(message: &str) -> String {
    message.strip_prefix("failed to lookup address information: ").unwrap_or(message).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver() -> SystemResolver<impl Fn() -> bool> {
        SystemResolver::new(Duration::from_secs(5), || false)
    }

    #[test]
    fn literals_need_no_resolver() {
        let expired = SystemResolver::new(Duration::ZERO, || false);
        assert_eq!(expired.lookup("fd00::1"), Ok(vec!["fd00::1".parse().unwrap()]));
        assert_eq!(expired.lookup("10.1.2.3"), Ok(vec!["10.1.2.3".parse().unwrap()]));
    }

    #[test]
    fn localhost_resolves_without_repeats() {
        let addresses = resolver().lookup("localhost").unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback) && !addresses.is_empty(), "{addresses:?}");
        let mut unique = addresses.clone();
        unique.dedup();
        assert_eq!(unique, addresses);
    }

    #[test]
    fn a_name_that_is_none_says_so() {
        let answer = resolver().lookup("no such name").unwrap_err();
        assert!(!answer.is_empty() && !answer.contains("failed to lookup"), "{answer}");
    }

    #[test]
    fn patience_ends_at_the_deadline() {
        let start = Instant::now();
        let timeout = Duration::from_millis(600);
        let resolver = SystemResolver::with_patience(timeout, true, || false);
        assert!(resolver.lookup("no such name").is_err());
        assert!(start.elapsed() >= timeout, "{:?}", start.elapsed());
        let hasty = SystemResolver::with_patience(timeout, true, || true);
        assert!(hasty.lookup("no such name").is_err());
    }

    #[test]
    fn a_name_is_asked_for_once() {
        let resolver = resolver();
        resolver.ask_early(&["localhost", "127.0.0.1"]);
        assert_eq!(resolver.asked.borrow().len(), 1);
        let answer = resolver.lookup("localhost");
        // Without another look-up it is there after the deadline too.
        let late = SystemResolver { deadline: Instant::now(), ..resolver };
        assert!(late.is_late());
        assert_eq!(late.lookup("localhost"), answer);
        assert_eq!(late.lookup("other").unwrap_err(), "no answer within 5 s");
    }

    #[test]
    fn the_route_to_loopback_starts_there() {
        let lo = "127.0.0.1".parse().unwrap();
        assert_eq!(resolver().source_to(lo), Some(lo));
    }
}
