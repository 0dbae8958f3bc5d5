//! Deciding on the node that this process runs on.

use std::cell::RefCell;
use std::time::Duration;

use pyo3::prelude::*;

use crate::node::{ask_this, Node};
use crate::resolver::SystemResolver;

/// How long to look for a name that is not known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// The first answer counts.
    None,
    /// Until the deadline.
    UntilDeadline,
}

/// Decide with this node's facts, without the GIL; a signal's exception comes before the answer. All look-ups together
/// take at most `timeout` seconds.
pub(super) fn on_this_node<T: Send>(
    py: Python<'_>,
    timeout: f64,
    patience: Patience,
    decide: impl Send + FnOnce(Node<'_>) -> crate::Result<T>,
) -> PyResult<T> {
    let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX);
    let (answer, signal) = py.detach(|| {
        let signal = RefCell::new(None);
        let interrupted = || {
            #[allow(clippy::redundant_closure_for_method_calls)] // the method is not general in its lifetime
            let caught = Python::attach(|py| py.check_signals()).err();
            let is_caught = caught.is_some();
            signal.replace(caught);
            is_caught
        };
        let is_patient = patience == Patience::UntilDeadline;
        let resolver = SystemResolver::with_patience(timeout, is_patient, interrupted);
        (ask_this(&resolver, decide), signal.take())
    });
    match signal {
        Some(signal) => Err(signal),
        None => Ok(answer?),
    }
}
