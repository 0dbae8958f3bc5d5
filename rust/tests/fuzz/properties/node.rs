//! A made-up node: its interfaces, and a resolver that is a function of the name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use torchrun_jsc::interface::{Address, Interface, LazyTable, Table};
use torchrun_jsc::node::Processes;
use torchrun_jsc::resolver::{Answer, Kind, Resolver, Unresolved};

/// The node with this number of a step whose nodes have these names.
pub(super) struct Made<'a> {
    pub(super) number: u8,
    pub(super) names: &'a [String],
}

impl Made<'_> {
    pub(super) fn table(&self) -> LazyTable {
        let number = self.number;
        LazyTable::new(Box::new(move || Table { interfaces: interfaces(number) }))
    }
}

/// eth0 and ib0, both up, ib1, which is down, and a bridge that all nodes have.
fn interfaces(number: u8) -> Vec<Interface> {
    let interface = |name: &str, addresses: &[(IpAddr, u8)]| Interface {
        name: name.to_owned(),
        up: name != "ib1",
        running: name != "ib1",
        loopback: name == "lo",
        addresses: addresses.iter().map(|&(ip, prefix)| Address { ip, prefix }).collect(),
        ..Interface::default()
    };
    vec![
        interface("lo", &[(Ipv4Addr::LOCALHOST.into(), 8), (Ipv6Addr::LOCALHOST.into(), 128)]),
        interface("eth0", &[(v4(10, number), 24)]),
        interface("ib0", &[(v4(20, number), 24), (v6(number), 64)]),
        interface("ib1", &[(v4(30, number), 24)]),
        interface("docker0", &[(Ipv4Addr::new(172, 17, 0, 1).into(), 16)]),
    ]
}

fn v4(network: u8, number: u8) -> IpAddr {
    Ipv4Addr::new(10, network, 0, number + 1).into()
}

fn v6(number: u8) -> IpAddr {
    Ipv6Addr::new(0xfd00, 0x20, 0, 0, 0, 0, 0, u16::from(number) + 1).into()
}

impl Processes for Made<'_> {
    fn parents(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Resolver for Made<'_> {
    fn ask(&self, host: &str) -> Answer {
        if let Ok(ip) = host.parse() {
            return Ok(vec![ip]);
        }
        for (number, name) in (0..).zip(self.names) {
            let (label, domain) = name.split_at(name.find('.').unwrap_or(name.len()));
            if host == name {
                return Ok(vec![v4(10, number)]);
            }
            if host == format!("{label}i{domain}") {
                return Ok(vec![v4(20, number)]);
            }
            if host == format!("{label}-v6{domain}") {
                return Ok(vec![v6(number), v4(20, number)]);
            }
        }
        match host {
            "localhost" => Ok(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]),
            "store" => Ok(vec![v4(20, 1)]),
            "down" => Ok(vec![v4(30, 0)]),
            "bridge" => Ok(vec![Ipv4Addr::new(172, 17, 0, 1).into()]),
            "elsewhere" => Ok(vec![Ipv4Addr::new(192, 0, 2, 1).into(), v4(20, 99)]),
            "debian" => Ok(vec![Ipv4Addr::new(127, 0, 1, 1).into()]),
            "many" => Ok((100..164).map(|number| v4(20, number)).collect()),
            "none" => Ok(Vec::new()),
            "silent" => Err(Unresolved::new(Kind::NoAnswer, "no answer within 10 s")),
            "refused" => Err(Unresolved::new(Kind::Refused, "Non-recoverable failure in name resolution")),
            _ => Err(Unresolved::new(Kind::NoSuchName, "Name or service not known")),
        }
    }

    fn source_to(&self, target: IpAddr) -> Option<IpAddr> {
        let interfaces = interfaces(self.number);
        let up = interfaces.iter().filter(|interface| interface.up).flat_map(|interface| &interface.addresses);
        up.clone().find(|address| address.network_contains(target)).map(|address| address.ip)
    }
}
