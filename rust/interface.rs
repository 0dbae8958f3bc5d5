//! The network interfaces of this node, and which of them may carry the traffic of a launch.

use std::cell::LazyCell;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{LinkAddr, SockaddrStorage};

pub use filter::Filter;

mod filter;

/// ARPHRD type of IP over InfiniBand, as in Linux's `if_arp.h`.
pub const INFINIBAND: u16 = 32;

/// Beginnings of the names that container engines and hypervisors give to bridges and their ports. Such a bridge has
/// the same address on every node, so an address on it says nothing about which node this is.
const SHARED_NAMES: [&str; 14] = [
    "docker", "br-", "virbr", "veth", "cni", "cbr", "flannel", "cali", "podman", "lxcbr", "lxdbr", "vnet", "vmnet",
    "kube-",
];

/// An address of an interface with its network's prefix length in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address itself.
    pub ip: IpAddr,
    /// Length of the network prefix in bits.
    pub prefix: u8,
}

impl Address {
    /// Whether `other` is in the network of this address.
    #[must_use]
    pub fn network_contains(&self, other: IpAddr) -> bool {
        match (self.ip, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let shift = 32 - u32::from(self.prefix.min(32));
                (a.to_bits() ^ b.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let shift = 128 - u32::from(self.prefix.min(128));
                (a.to_bits() ^ b.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// One interface as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // the kernel's own flags
pub struct Interface {
    /// Name, such as `ib0`; characters that are not UTF-8 are replaced.
    pub name: String,
    /// The kernel's number of it; 0 where unknown.
    pub index: u32,
    /// Administratively up.
    pub up: bool,
    /// Has a carrier.
    pub running: bool,
    /// Is a loopback interface.
    pub loopback: bool,
    /// ARPHRD type; [`INFINIBAND`] for IP over InfiniBand; 0 where the system does not say it.
    pub link_type: u16,
    /// Addresses in the kernel's order.
    pub addresses: Vec<Address>,
}

impl Interface {
    /// Whether the name is one that every node of a cluster may have with the same address (`docker0` …).
    #[must_use]
    pub fn is_shared(&self) -> bool {
        SHARED_NAMES.iter().any(|start| self.name.starts_with(start))
    }

    /// Why this interface cannot carry traffic between nodes, if it cannot.
    #[must_use]
    pub fn unusable(&self) -> Option<&'static str> {
        if !self.up {
            Some("is down")
        } else if !self.running {
            Some("has no carrier")
        } else if self.is_shared() {
            Some("is a bridge that other nodes have too")
        } else {
            None
        }
    }
}

/// A table that is taken when it is first needed: listing the interfaces costs more than many plans.
pub type LazyTable = LazyCell<Table, Box<dyn FnOnce() -> Table>>;

/// The interfaces of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// In the kernel's order.
    pub interfaces: Vec<Interface>,
}

impl Table {
    /// Take a snapshot with getifaddrs(3): no helper programs, no `/sys`.
    ///
    /// # Errors
    /// The system's error, where it cannot list them.
    pub fn snapshot() -> std::io::Result<Self> {
        let mut table = Self::default();
        for entry in getifaddrs()? {
            let interface = table.entry(&entry.interface_name, entry.flags);
            let Some(address) = entry.address else { continue };
            if let Some(link) = address.as_link_addr() {
                interface.index = u32::try_from(link.ifindex()).unwrap_or(0);
                interface.link_type = link_type(link);
            } else if let Some(ip) = ip_of(&address) {
                let prefix = entry.netmask.as_ref().and_then(ip_of).map_or(host_prefix(ip), prefix_of);
                interface.addresses.push(Address { ip, prefix });
            }
        }
        Ok(table)
    }

    /// Whether the system did not list its interfaces: any system has loopback. Nothing follows from what is not in such
    /// a table.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.interfaces.is_empty()
    }

    /// Whether this node is known not to have the address `ip`.
    #[must_use]
    pub fn lacks(&self, ip: IpAddr) -> bool {
        !self.is_unknown() && self.owner(ip).is_none()
    }

    fn entry(&mut self, name: &str, flags: InterfaceFlags) -> &mut Interface {
        let at = self.interfaces.iter().position(|known| known.name == name).unwrap_or_else(|| {
            self.interfaces.push(Interface {
                name: name.to_owned(),
                up: flags.contains(InterfaceFlags::IFF_UP),
                running: flags.contains(InterfaceFlags::IFF_RUNNING),
                loopback: flags.contains(InterfaceFlags::IFF_LOOPBACK),
                ..Interface::default()
            });
            self.interfaces.len() - 1
        });
        &mut self.interfaces[at]
    }

    /// The interface that has the address `ip`.
    #[must_use]
    pub fn owner(&self, ip: IpAddr) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.addresses.iter().any(|address| address.ip == ip))
    }

    /// The interface that has `ip`, where that tells this node from all others: not an address of the loopback
    /// network, not link-local, not on a bridge that other nodes have too. A routable address on `lo` counts.
    #[must_use]
    pub fn proof_of_self(&self, ip: IpAddr) -> Option<&Interface> {
        if !is_global(ip) {
            return None;
        }
        self.owner(ip).filter(|interface| !interface.is_shared())
    }

    /// The addresses under which other nodes may reach this one.
    pub fn own_addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let usable = self.interfaces.iter().filter(|interface| interface.unusable().is_none());
        usable.flat_map(|interface| &interface.addresses).map(|address| address.ip).filter(|&ip| is_global(ip))
    }

    /// The interface whose attached network contains `ip`.
    #[must_use]
    pub fn attached_to(&self, ip: IpAddr) -> Option<&Interface> {
        self.interfaces
            .iter()
            .filter(|interface| !interface.loopback && interface.unusable().is_none())
            .find(|interface| interface.addresses.iter().any(|address| address.network_contains(ip)))
    }

    /// Names of the interfaces that could carry traffic between nodes, for messages.
    #[must_use]
    pub fn usable_names(&self) -> Vec<&str> {
        self.interfaces
            .iter()
            .filter(|interface| !interface.loopback && interface.unusable().is_none())
            // Members of a bond have none.
            .filter(|interface| interface.addresses.iter().any(|address| is_global(address.ip)))
            .map(|interface| interface.name.as_str())
            .collect()
    }
}

/// Whether other nodes may reach `ip`: it is neither loopback nor link-local nor unspecified.
#[must_use]
pub fn is_global(ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(ip.is_loopback() || ip.is_unspecified() || link_local)
}

#[cfg(target_os = "linux")]
fn link_type(link: &LinkAddr) -> u16 {
    link.hatype()
}

/// Only Linux says it.
#[cfg(not(target_os = "linux"))]
fn link_type(_: &LinkAddr) -> u16 {
    0
}

fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(IpAddr::V4(v4.ip()));
    }
    address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()))
}

fn prefix_of(netmask: IpAddr) -> u8 {
    let ones = match netmask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    u8::try_from(ones).unwrap_or(u8::MAX)
}

fn host_prefix(ip: IpAddr) -> u8 {
    if ip.is_ipv4() {
        32
    } else {
        128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(ip: &str, prefix: u8) -> Address {
        Address { ip: ip.parse().unwrap(), prefix }
    }

    #[test]
    fn networks_contain_their_addresses() {
        for (ip, prefix, other, inside) in [
            ("10.20.0.1", 24, "10.20.0.7", true),
            ("10.20.0.1", 24, "10.20.1.7", false),
            ("10.20.0.1", 32, "10.20.0.1", true),
            ("10.20.0.1", 32, "10.20.0.2", false),
            ("10.20.0.1", 0, "192.168.0.1", true),
            ("fd00:20::1", 64, "fd00:20::2", true),
            ("fd00:20::1", 64, "fd00:21::2", false),
            ("fd00:20::1", 0, "::2", true),
            ("fd00:20::1", 64, "10.20.0.1", false),
        ] {
            assert_eq!(address(ip, prefix).network_contains(other.parse().unwrap()), inside, "{ip}/{prefix} {other}");
        }
    }

    #[test]
    fn snapshot_knows_loopback() {
        let table = Table::snapshot().unwrap();
        let lo = table.interfaces.iter().find(|i| i.loopback).expect("every machine has a loopback interface");
        assert!(lo.index > 0, "{lo:?}");
        assert_eq!(lo.link_type, 772, "ARPHRD_LOOPBACK: {lo:?}");
        assert_eq!(table.owner("127.0.0.1".parse().unwrap()), Some(lo));
        assert_eq!(table.proof_of_self("127.0.0.1".parse().unwrap()), None);
    }

    #[test]
    fn shared_bridges_and_loopback_prove_nothing() {
        let interface = |name: &str, ip: &str| Interface {
            name: name.into(),
            up: true,
            running: true,
            addresses: vec![address(ip, 24)],
            ..Interface::default()
        };
        let table = Table {
            interfaces: vec![
                Interface { loopback: true, ..interface("lo", "10.99.0.1") },
                interface("docker0", "172.17.0.1"),
                interface("ib0", "10.20.0.1"),
                interface("eth1", "fe80::1"),
            ],
        };
        for (ip, owner) in [
            ("10.20.0.1", Some("ib0")),
            ("172.17.0.1", None),
            ("fe80::1", None),
            ("10.99.0.1", Some("lo")),
            ("10.20.0.2", None),
        ] {
            assert_eq!(table.proof_of_self(ip.parse().unwrap()).map(|i| i.name.as_str()), owner, "{ip}");
        }
        let own: Vec<_> = table.own_addresses().map(|ip| ip.to_string()).collect();
        assert_eq!(own, ["10.99.0.1", "10.20.0.1"]);
    }
}
