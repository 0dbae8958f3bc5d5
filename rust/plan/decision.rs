//! A value and why it is that one.

/// A value and why it is that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<T> {
    /// What was decided.
    pub value: T,
    /// Why, in one clause.
    pub reason: String,
}

impl<T> Decision<T> {
    pub(super) fn new(value: T, reason: impl Into<String>) -> Self {
        Self { value, reason: reason.into() }
    }
}
