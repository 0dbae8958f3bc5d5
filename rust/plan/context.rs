//! What the rules of a launch look at, once its store is known.

use crate::options::Options;

use super::here::Here;
use super::store::Store;

/// A launch on this node.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) here: &'a Here<'a>,
    pub(super) options: &'a Options,
    pub(super) store: &'a Store,
}
