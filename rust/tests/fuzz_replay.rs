//! The fuzz targets' corpus, and small changes of it: what a run of the fuzzer has found stays found.
#![allow(missing_docs)]

#[path = "fuzz/properties/mod.rs"]
mod properties;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, Index};

/// The files of a target's corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust/tests/fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// A change of some bytes.
#[derive(Debug, Clone)]
enum Edit {
    Set(Index, u8),
    Cut(Index, Index),
    Repeat(Index, Index),
    Insert(Index, Vec<u8>),
}

fn edit(words: Vec<Vec<u8>>) -> impl Strategy<Value = Edit> {
    let signs = prop_oneof![select(b"[],-=:. \n\t09a^{}()x\x1b\xff".to_vec()), any::<u8>()];
    let places = (any::<Index>(), any::<Index>());
    prop_oneof![
        (any::<Index>(), signs).prop_map(|(at, sign)| Edit::Set(at, sign)),
        places.clone().prop_map(|(from, to)| Edit::Cut(from, to)),
        places.prop_map(|(from, to)| Edit::Repeat(from, to)),
        (any::<Index>(), select(words)).prop_map(|(at, word)| Edit::Insert(at, word)),
    ]
}

impl Edit {
    fn apply(&self, data: &mut Vec<u8>) {
        let place = |index: &Index| index.index(data.len() + 1);
        match self {
            Self::Set(at, sign) => {
                let at = place(at);
                data.splice(at..(at + 1).min(data.len()), [*sign]);
            }
            Self::Cut(from, to) => {
                let (from, to) = (place(from), place(to));
                data.drain(from.min(to)..from.max(to));
            }
            Self::Repeat(from, to) => {
                let (from, to) = (place(from), place(to));
                let part = data[from.min(to)..from.max(to)].to_vec();
                data.splice(from..from, part);
            }
            Self::Insert(at, word) => {
                let at = place(at);
                data.splice(at..at, word.iter().copied());
            }
        }
    }
}

/// Lines of the corpus with up to six edits, among which are other lines of it.
fn changed(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let files = corpus(target);
    let lines = files.iter().flat_map(|file| file.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec)).collect();
    (select(files), vec(edit(lines), 1..6)).prop_map(|(mut data, edits)| {
        for edit in edits {
            edit.apply(&mut data);
        }
        data
    })
}

macro_rules! replay {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            for data in corpus(stringify!($target)) {
                properties::$target(&data);
            }
            proptest!(ProptestConfig::with_cases(500), |(data in changed(stringify!($target)))| {
                properties::$target(&data);
            });
        }
    )*};
}

replay! { hostlist endpoint interface plan environment }
