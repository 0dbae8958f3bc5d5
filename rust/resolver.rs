//! Host names to addresses, with a deadline, and the way to an address.

use std::cell::RefCell;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use dns_lookup::{getaddrinfo, AddrInfoHints, LookupError, LookupErrorKind, SockType};

/// How long to wait before a name is asked for again.
const RETRY: Duration = Duration::from_millis(250);

/// How often a waiting look-up asks whether the user has interrupted the program.
const INTERRUPT_POLL: Duration = Duration::from_millis(50);

/// Why a host has no address here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// What kind of answer it is.
    pub kind: Kind,
    /// The resolver's own words, for people.
    pub answer: String,
}

/// Kinds of answers without an address. Only the first one says anything of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is no such name, or it has no address.
    NoSuchName,
    /// No answer yet: a name server that is silent or has trouble, or the deadline.
    NoAnswer,
    /// The resolver or a name server refuses to say.
    Refused,
}

impl Unresolved {
    /// An answer of this kind.
    pub fn new(kind: Kind, answer: impl Into<String>) -> Self {
        Self { kind, answer: answer.into() }
    }

    /// Whether the name is known not to exist.
    #[must_use]
    pub fn is_no_such_name(&self) -> bool {
        self.kind == Kind::NoSuchName
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.answer)
    }
}

/// What the plan asks of the system beyond the table of interfaces. Tests answer in its place.
pub trait Resolver {
    /// The first answer for `host`: its addresses in the resolver's order, without repeats.
    ///
    /// # Errors
    /// The answer that has none.
    fn ask(&self, host: &str) -> Answer;

    /// The same for a host that is needed: asked for again until the deadline, unless there is no such name.
    ///
    /// # Errors
    /// The last answer.
    fn lookup(&self, host: &str) -> Answer {
        self.ask(host)
    }

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

/// The addresses of a host, or why it has none.
pub type Answer = Result<Vec<IpAddr>, Unresolved>;

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
    fn ask(&self, host: &str) -> Answer {
        match host.parse() {
            Ok(ip) => Ok(vec![ip]),
            Err(_) => self.answer_of(host),
        }
    }

    fn lookup(&self, host: &str) -> Answer {
        loop {
            let answer = self.ask(host);
            let Err(unresolved) = &answer else { return answer };
            let is_final = unresolved.is_no_such_name() && !self.patient;
            let left = self.deadline.saturating_duration_since(Instant::now());
            if is_final || left.is_zero() || (self.interrupted)() {
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
    fn answer_of(&self, host: &str) -> Answer {
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
    fn wait(&self, receiver: &Receiver<Answer>) -> Result<Answer, Unresolved> {
        let none = |answer: &str| Err(Unresolved::new(Kind::NoAnswer, answer));
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left.min(INTERRUPT_POLL)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return none("the look-up ended without an answer"),
                Err(RecvTimeoutError::Timeout) if (self.interrupted)() => return none("interrupted"),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return none(&format!("no answer within {} s", self.timeout.as_secs_f64()));
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
        Err(error) => Asked::Answered(Err(Unresolved::new(Kind::NoAnswer, error.to_string()))),
    }
}

/// As torch and std ask: both families, whatever addresses this node has.
fn system_lookup(host: &str) -> Answer {
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let answers = getaddrinfo(Some(host), None, Some(hints)).map_err(unresolved)?;
    let mut addresses = Vec::new();
    for ip in answers.flatten().map(|answer| answer.sockaddr.ip()) {
        if !addresses.contains(&ip) {
            addresses.push(ip);
        }
    }
    Ok(addresses)
}

/// getaddrinfo(3)'s answer, told apart.
fn unresolved(error: LookupError) -> Unresolved {
    let kind = match error.kind() {
        LookupErrorKind::NoName | LookupErrorKind::NoData => Kind::NoSuchName,
        LookupErrorKind::Again | LookupErrorKind::Memory | LookupErrorKind::System => Kind::NoAnswer,
        _ => Kind::Refused,
    };
    let words = std::io::Error::from(error).to_string();
    Unresolved::new(kind, plain(&words))
}

/// The resolver's words without a preface.
fn plain(message: &str) -> &str {
    message.rsplit_once(": ").map_or(message, |(_, words)| words)
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
        let unresolved = resolver().ask("no such name").unwrap_err();
        assert!(unresolved.is_no_such_name(), "{unresolved:?}");
        assert_eq!(unresolved.to_string(), "Name or service not known");
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
        let unresolved = late.lookup("other").unwrap_err();
        assert_eq!(unresolved, Unresolved::new(Kind::NoAnswer, "no answer within 5 s"));
    }

    #[test]
    fn the_route_to_loopback_starts_there() {
        let lo = "127.0.0.1".parse().unwrap();
        assert_eq!(resolver().source_to(lo), Some(lo));
    }
}
