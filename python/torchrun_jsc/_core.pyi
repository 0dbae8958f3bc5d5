"""The compiled part of the package: node lists, interfaces and the plan of a launch."""

from typing import Any, Mapping, final

__all__ = [
    "MAX_NUMBER",
    "MAX_PORT",
    "Endpoint",
    "Form",
    "Hostlist",
    "Interface",
    "Plan",
    "__version__",
    "count_nodes",
    "expand_hostlist",
    "fold_hostlist",
    "interfaces",
    "is_first_of_node",
    "lookup",
    "own_addresses",
    "plan",
    "resolve_endpoint",
    "route_to",
]

__version__: str
#: The largest number of nodes or tasks, and the largest port.
MAX_NUMBER: int
MAX_PORT: int

@final
class Hostlist:
    """A Slurm node list that is expanded only as far as it is asked for.

    :param expression: such as ``jwb[0001-0004,0009]``.
    :raises HostlistError: where Slurm would not expand it.
    """

    def __new__(cls, expression: str) -> Hostlist: ...
    def __len__(self) -> int:
        """Count the hosts, without expanding."""

    def __getitem__(self, index: int, /) -> str:
        """Return the host with this number; negative numbers count from the end.

        :raises IndexError: where there is none.
        """

    def position(self, name: str) -> int | None:
        """Return the number of the first host called ``name``, or None."""

@final
class Interface:
    """One network interface of this node."""

    @property
    def name(self) -> str:
        """Its name, such as ``ib0``."""
    @property
    def index(self) -> int:
        """The kernel's number of it."""
    @property
    def is_up(self) -> bool:
        """Whether it is administratively up."""
    @property
    def is_running(self) -> bool:
        """Whether it has a carrier."""
    @property
    def is_loopback(self) -> bool:
        """Whether it is a loopback interface."""
    @property
    def link_type(self) -> int:
        """Its ARPHRD type: 1 Ethernet, 32 InfiniBand, 772 loopback."""
    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Its IPv4 and IPv6 addresses, each with the prefix length of its network in bits."""

@final
class Form:
    """How names on the fast network are made of the nodes' names."""

    def apply(self, node: str) -> str:
        """Return what ``node`` is called there."""

@final
class Plan:
    """What is to be told to torch on this node, and why."""

    @property
    def untouched(self) -> str | None:
        """Why torch is left alone, where it is."""
    @property
    def in_step(self) -> bool:
        """Whether this process is one of several that were started together."""
    @property
    def node(self) -> str:
        """This node's name."""
    @property
    def node_rank(self) -> int | None:
        """Its place in the step."""
    @property
    def nnodes(self) -> int | None:
        """The number of nodes of the step."""
    @property
    def nodes(self) -> Hostlist | None:
        """The nodes of the step."""
    @property
    def nodes_source(self) -> str | None:
        """The variable that the nodes were read from."""
    @property
    def host_node(self) -> str | None:
        """The node that hosts the store, where its name is known."""
    @property
    def is_host(self) -> bool | None:
        """Whether this agent hosts the store; None leaves it to torch."""
    @property
    def host_check(self) -> str:
        """How torch is told of it: ``argument`` or ``function``."""
    @property
    def endpoint(self) -> str | None:
        """Where the store is, as ``host:port``."""
    @property
    def host(self) -> str | None:
        """The endpoint's host, without brackets."""
    @property
    def port(self) -> int | None:
        """The endpoint's port."""
    @property
    def preflight_port(self) -> int:
        """The port on which nodes try to reach one another beforehand."""
    @property
    def endpoint_address(self) -> str | None:
        """The address of the endpoint that this node prefers."""
    @property
    def local_address(self) -> str | None:
        """What this node publishes to its peers."""
    @property
    def interface(self) -> str | None:
        """The interface that carries it."""
    @property
    def gloo_interface(self) -> str | None:
        """The value for ``GLOO_SOCKET_IFNAME``, where it is to be set."""
    @property
    def form(self) -> Form | None:
        """How the endpoint's host is made of the host node's name, where that is known."""
    @property
    def notes_place(self) -> bool:
        """Whether this agent notes its place in the step for whoever ranks the nodes."""
    @property
    def place(self) -> int | None:
        """This node's place among the others, which its rank follows."""
    @property
    def local_id(self) -> int:
        """The number of this agent on its node."""
    @property
    def rank_order(self) -> str | None:
        """Who ranks the nodes: ``slurm`` or ``torch``."""
    @property
    def fills(self) -> dict[str, str]:
        """Options to fill in, by their names in torch's namespace."""
    @property
    def warnings(self) -> list[str]:
        """What the user should know, a line each."""
    @property
    def reasons(self) -> dict[str, str]:
        """Why each of these is what it is."""

def plan(settings: Any, options: dict[str, Any], environ: Mapping[str, str], timeout: float) -> Plan:
    """Decide for this node.

    :param settings: :class:`torchrun_jsc.settings.Settings`, which are read by their names.
    :param options: as ``args.options_of`` gives them.
    :param environ: the environment in which Slurm's variables are looked up.
    :param timeout: deadline of all name look-ups together, in seconds.
    :raises SettingError: for a variable or option that cannot be used.
    :raises ResolveError: for an endpoint without an address.
    """

@final
class Endpoint:
    """Where the rendezvous store of a step is, and the place of this task; what Slurm does not say is None.

    ``str()`` of it is ``host:port``, with IPv6 addresses in brackets. Two are equal where :meth:`env` is. It can be
    copied, and pickled: in another process, ``local_address`` and ``interface`` are still those of the node that it was
    pickled on.
    """

    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Endpoint: ...
    def __deepcopy__(self, memo: object, /) -> Endpoint: ...
    @property
    def host(self) -> str:
        """The store's host, without brackets."""
    @property
    def port(self) -> int:
        """The store's TCP port."""
    @property
    def address(self) -> str | None:
        """The host as an address literal."""
    @property
    def local_address(self) -> str | None:
        """What peers reach this node by on the endpoint's network, a name or an address; looked up on every access."""
    @property
    def interface(self) -> str | None:
        """The interface that carries it; looked up on every access."""
    @property
    def host_node(self) -> str | None:
        """The name of the node that hosts the store."""
    @property
    def is_host(self) -> bool | None:
        """Whether this task hosts the store: the one with rank 0."""
    @property
    def node(self) -> str:
        """This node's name."""
    @property
    def node_rank(self) -> int | None:
        """This node's place in the step."""
    @property
    def nnodes(self) -> int | None:
        """The number of nodes."""
    @property
    def rank(self) -> int | None:
        """The number of this task among all; None outside an ``srun`` step."""
    @property
    def world_size(self) -> int | None:
        """The number of tasks."""
    @property
    def local_rank(self) -> int | None:
        """The number of this task on its node."""
    @property
    def local_world_size(self) -> int | None:
        """The number of tasks on this node."""
    @property
    def init_method(self) -> str:
        """``tcp://host:port``, for ``torch.distributed.init_process_group``."""
    @property
    def reasons(self) -> dict[str, str]:
        """Why these are what they are."""
    @property
    def warnings(self) -> list[str]:
        """What contradicts Slurm, a line each."""
    def env(self) -> dict[str, str]:
        """Return the variables of torch's ``env://`` initialisation, as far as they are known:
        MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and NODE_RANK.
        """

def resolve_endpoint(
    settings: Any,
    endpoint: str | None,
    port: int | None,
    environ: Mapping[str, str],
    timeout: float,
    is_child: bool,
) -> Endpoint:
    """Decide for this task; see :func:`torchrun_jsc.resolve_endpoint`."""

def lookup(hosts: list[str], timeout: float) -> list[list[str]]:
    """Return the addresses of each host; all look-ups together take at most ``timeout`` seconds."""

def route_to(address: str) -> tuple[str | None, str | None]:
    """Return the source address and the interface of the route to ``address``, where there is one."""

def count_nodes(settings: Any, environ: Mapping[str, str]) -> tuple[int | None, str | None]:
    """Return the number of nodes that ``--nnodes=auto`` stands for, where it is known, and what is to be said of it.

    :raises SettingError: for a list that cannot be read.
    """

def is_first_of_node(environ: Mapping[str, str]) -> bool:
    """Return whether this is the first task of its node, as far as its launcher says."""

def expand_hostlist(expression: str) -> list[str]:
    """Return the hosts of a Slurm node list, in its order, repeats included.

    :raises HostlistError: where Slurm would not expand it, or it stands for more than 1,048,576 hosts.
    """

def fold_hostlist(names: list[str]) -> str:
    """Return the shortest usual node list for ``names``; expanding it gives them back in their order.

    :raises HostlistError: where a name cannot stand in a node list.
    """

def own_addresses() -> list[str]:
    """Return the addresses under which other nodes may reach this one: of interfaces that are up, without loopback,
    link-local addresses and bridges that every node has.

    :raises OSError: where the system cannot list them.
    """

def interfaces() -> list[Interface]:
    """Return the network interfaces of this node, in the kernel's order.

    :raises OSError: where the system cannot list them.
    """
