//! What 65,536 hosts cost, compared with a loop that only copies the same names, and what a bomb costs.
#![allow(missing_docs, clippy::print_stdout)]

use criterion::{criterion_group, Criterion};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};
use torchrun_jsc::hostlist::{fold, Hostlist};

const LONG: &str = "n[00000-65535]";
const BOMB: &str = "n[0-65535][0-65535][0-65535]";

/// A list and its names. What the list does with all of them is compared with the least that any code must do.
struct Names {
    list: Hostlist,
    names: Vec<String>,
}

impl Names {
    fn new() -> Self {
        let list = Hostlist::parse(LONG).unwrap();
        let names = list.names().collect::<Vec<_>>();
        Self { list, names }
    }

    /// As the product does it: each name goes from one buffer into a list of somebody else's.
    fn advance(&self, buffer: &mut String) {
        buffer.clear();
        let mut names = self.list.names();
        while let Some(name) = names.advance() {
            buffer.push_str(black_box(name));
        }
    }

    fn append(&self, buffer: &mut String) {
        buffer.clear();
        self.names.iter().for_each(|host| buffer.push_str(black_box(host)));
    }
}

fn format(buffer: &mut String) {
    buffer.clear();
    (0..65_536).for_each(|number| write!(buffer, "n{number:05}").unwrap());
}

fn expansion(criterion: &mut Criterion) {
    let names = Names::new();
    let mut buffer = String::new();
    let mut group = criterion.benchmark_group("65536 hosts");
    group.bench_function("advance", |b| b.iter(|| names.advance(&mut buffer)));
    group.bench_function("format", |b| b.iter(|| format(&mut buffer)));
    group.bench_function("append", |b| b.iter(|| names.append(&mut buffer)));
    group.bench_function("fold", |b| b.iter(|| fold(&names.names).unwrap()));
    group.finish();
}

fn look_up(criterion: &mut Criterion) {
    for (title, expression) in [("65536 hosts", LONG), ("bomb", BOMB)] {
        let list = Hostlist::parse(expression).unwrap();
        let k = list.len() - 1;
        let host = list.nth(k).unwrap();
        let mut group = criterion.benchmark_group(title);
        group.bench_function("parse", |b| b.iter(|| Hostlist::parse(black_box(expression)).unwrap()));
        group.bench_function("nth", |b| b.iter(|| list.nth(black_box(k))));
        group.bench_function("position", |b| b.iter(|| list.position(black_box(&host))));
        group.finish();
    }
}

/// The shortest of many runs: what the machine does besides only makes runs longer.
fn fastest(mut action: impl FnMut()) -> Duration {
    let run = |_| {
        let start = Instant::now();
        action();
        start.elapsed()
    };
    (0..100).map(run).min().unwrap()
}

/// Prints how the time for all names compares with a loop that only writes the same names; the aim is at most 2.
fn print_ratios() {
    let names = Names::new();
    let mut buffer = String::new();
    let ratio = |time: Duration, reference: Duration| time.as_secs_f64() / reference.as_secs_f64();
    let advance = fastest(|| names.advance(&mut buffer));
    let formatted = fastest(|| format(&mut buffer));
    println!("advance / format each name into a buffer: {:.2}", ratio(advance, formatted));
    let append = fastest(|| names.append(&mut buffer));
    println!("advance / append ready names to a buffer: {:.2}", ratio(advance, append));
}

criterion_group!(benches, expansion, look_up);

fn main() {
    benches();
    print_ratios();
    Criterion::default().configure_from_args().final_summary();
}
