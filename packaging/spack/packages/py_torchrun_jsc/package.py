# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyTorchrunJsc(PythonPackage):
    """torchrun for Slurm clusters whose nodes have several networks: the same command line, with the rendezvous
    host, the addresses and the order of the nodes found from Slurm and the nodes' own interfaces.
    """

    homepage = "https://pypi.org/project/torchrun_jsc/"
    pypi = "torchrun_jsc/torchrun_jsc-0.1.0.tar.gz"

    license("Apache-2.0")

    # written by packaging/update.py
    version("0.1.0", sha256="294dc4e4713bc374fc6d880745ea18f58d5ed26751e590b1a0a097fb186b5eb9")

    crates = (
        ("aho-corasick", "1.1.5", "c982642fa9e8606056828ee9a8505737230110bb1099153c79efe865c59d12ba"),
        ("alloca", "0.4.0", "e5a7d05ea6aea7e9e64d25b9156ba2fee3fdd659e34e41063cd2fc7cd020d7f4"),
        ("anes", "0.1.6", "4b46cbb362ab8752921c97e041f5e366ee6297bd428a31275b9fcf1e380f7299"),
        ("anstyle", "1.0.14", "940b3a0ca603d1eade50a4846a2afffd5ef57a9feac2c0e2ec2e14f9ead76000"),
        ("autocfg", "1.5.1", "f2032f911046de80f0a198e0901378627c33f59ea0ac00e363d481118bd70a53"),
        ("bitflags", "2.13.2", "3ded4057c258ba199e2d26386d3af3780957ecaee6c4ef4041c6b4b8b97c0b06"),
        ("block-buffer", "0.10.4", "3078c7629b62d3f0439517fa394996acacc5cbc91c5a20d8c658e77abd503a71"),
        ("cast", "0.3.0", "37b2a672a2cb129a2e41c10b1224bb368f9f37a2b16b612598138befd7b37eb5"),
        ("cc", "1.11.3", "02f0e023adb368345ce0ca6cdfc0f24a06554468d0e8503e14a0841de79bfa69"),
        ("cfg-if", "1.0.5", "4e7648175b45a9a48536d676f68d918270699102aa8dab5496df06904c914600"),
        ("cfg_aliases", "0.2.2", "f079e83a288787bcd14a6aea84cee5c87a67c5a3e660c30f557a3d24761b3527"),
        ("chacha20", "0.10.2", "65c35e4b699c7e15ccbe7ee35c005e4fc0a278d22238a2857e6ce2dadeda1b06"),
        ("ciborium", "0.2.2", "42e69ffd6f0917f5c029256a24d0161db17cea3997d185db0d35926308770f0e"),
        ("ciborium-io", "0.2.2", "05afea1e0a06c9be33d539b876f1ce3692f4afea2cb41f740e7743225ed1c757"),
        ("ciborium-ll", "0.2.2", "57663b653d948a338bfb3eeba9bb2fd5fcfaecb9e199e87e1eda4d9e8b240fd9"),
        ("clap", "4.6.9", "844c5c0b65be192cb68d570cca1b21a6444431d24e39c084dc0336177015337c"),
        ("clap_builder", "4.6.7", "ec0797fb7aeb1406c84efac526901f7ec3ead2124f946b494e72879d4b54704d"),
        ("clap_lex", "1.1.2", "e0921b3876b3a1df8a1c9f912e7f94342458022c2e84288015893d83c4d62a79"),
        ("core_detect", "1.0.0", "7f8f80099a98041a3d1622845c271458a2d73e688351bf3cb999266764b81d48"),
        ("cpufeatures", "0.2.17", "59ed5838eebb26a2bb2e58f6d5b5316989ae9d08bab10e0e6d103e656d1b0280"),
        ("cpufeatures", "0.3.1", "5ca28b0ae3115b884660db4118d803791fd6756b6e88f39c0f3f7859060d7566"),
        ("criterion", "0.8.2", "950046b2aa2492f9a536f5f4f9a3de7b9e2476e575e05bd6c333371add4d98f3"),
        ("criterion-plot", "0.8.2", "d8d80a2f4f5b554395e47b5d8305bc3d27813bacb73493eb1001e8f76dae29ea"),
        ("crunchy", "0.2.4", "460fbee9c2c2f33933d720630a6a0bac33ba7053db5344fac858d4b8952d77d5"),
        ("crypto-common", "0.1.7", "78c8292055d1c1df0cce5d180393dc8cce0abec0a7102adb6c7b1eef6016d60a"),
        ("digest", "0.10.7", "9ed9a281f7bc9b7576e61468ba615a66a5c8cfdff42420a70aa82701a3b1e292"),
        ("dns-lookup", "4.0.2", "263c0ccfc6b3b6a93e959edad4f985779e76c0b36dbb2e13e3d27c690974adf1"),
        ("either", "1.19.0", "0e9c71c2167ca323c882b99918929403426e2373ea17242ff5653e0d5e1058be"),
        ("find-msvc-tools", "0.1.15", "1c66915cc5391097de7a2b0b972e8505aa33c0df401fd3a6811dbdb32881ba48"),
        ("fnv", "1.0.7", "3f9eec918d3f24069decb9af1554cad7c880e2da24a9afd88aca000531ab82c1"),
        ("generic-array", "0.14.7", "85649ca51fd72272d7821adaf274ad91c288277713d9c18820d8499a7ff69e9a"),
        ("getrandom", "0.4.3", "300e883d756b2e4ec94e02791f39b04b522276138852cfc41d9fb7e904106099"),
        ("half", "2.7.1", "6ea2d84b969582b4b1864a92dc5d27cd2b77b622a8d79306834f1be5ba20d84b"),
        ("heck", "0.5.0", "2304e00983f87ffb38b55b444b5e3b60a884b5d30c0fca7d82fe33449bbe55ea"),
        ("itertools", "0.13.0", "413ee7dfc52ee1a4949ceeb7dbc8a33f2d6c088194d9f922fb8318faf1f01186"),
        ("itoa", "1.0.19", "3bd1574e617a9a6c1f8f8181bd7e841e1f20e4277607ef28945765188d6284d4"),
        ("libc", "0.2.191", "65cd87c9a6d60536580b316ad985726104730a5151c99845f2490428ef91240a"),
        ("memchr", "2.8.3", "cf8baf1c55e62ffcace7a9f06f4bd9cd3f0c4beb022d3b367256b91b87513d98"),
        ("memoffset", "0.9.1", "488016bfae457b036d996092f6cb448677611ce4449e970ceaf42695203f218a"),
        ("nix", "0.32.0", "77730ed34f01f4990cb2ea67fec715ecebc6fab9a6396cf83c5529b13f581bdc"),
        ("num-traits", "0.2.19", "071dfc062690e90b734c0b2273ce72ad0ffa95f0c74596bc250dcfd960262841"),
        ("once_cell", "1.21.4", "9f7c3e4beb33f85d45ae3e3a1792185706c8e16d043238c593331cc7cd313b50"),
        ("oorandom", "11.1.5", "d6790f58c7ff633d8771f42965289203411a5e5c68388703c06e14f24770b41e"),
        ("page_size", "0.6.0", "30d5b2194ed13191c1999ae0704b7839fb18384fa22e49b57eeaa97d79ce40da"),
        ("portable-atomic", "1.15.0", "05c8b63e8d9609db387f0324918f81d68fe27748f084ef092fb35954d0539a85"),
        ("proc-macro2", "1.0.107", "985e7ec9bb745e6ce6535b544d84d6cd6f7ad8bd711c398938ae983b91a766d9"),
        ("proptest", "1.12.0", "b8530004ccb15eae51c7e40009fbe317f341f804db54dc033eec1c50be28cfa0"),
        ("pyo3", "0.29.3", "700d18fa267b73b9b521fd7e13580e2f446916f176cacee1ab63fcc8191f1655"),
        ("pyo3-build-config", "0.29.3", "7b3fc0c4d08f6bb10e71fe39dfb9e2f59c6eb6854e22ec8092f50c69a4499adb"),
        ("pyo3-ffi", "0.29.3", "dfc0b8e19df29aad7086cf977bb0c2a2f143e30567eb113e9cf72b62ca698330"),
        ("pyo3-macros", "0.29.3", "6100e8a4b5eba53afaa5ed078364851a0b2499c553a44c31026b929049b49dc6"),
        ("pyo3-macros-backend", "0.29.3", "6143877a16e82b5a727b7127ff4cd86858a24a28d745d72f43e6f227c7b1bdb3"),
        ("quote", "1.0.47", "1fbf4db142a473a8d80c26bbf18454ed458bf8d26c8219c331daecfdbd079001"),
        ("r-efi", "6.0.0", "f8dcc9c7d52a811697d2151c701e0d08956f92b0e24136cf4cf27b57a6a0d9bf"),
        ("rand", "0.10.4", "8f6fa277c67e6ea590466f04c3fe82cb509f0864fe470643e5570de9514a9b11"),
        ("rand_core", "0.10.1", "63b8176103e19a2643978565ca18b50549f6101881c443590420e4dc998a3c69"),
        ("rand_xorshift", "0.5.0", "60aa6af80be32871323012e02e6e65f8a7cc7890931ae421d217ad8fe0df2ccf"),
        ("regex", "1.13.2", "9807af0e638c12e753aa1b4e601791bf2a8f71274023c8bbeec12fc149950857"),
        ("regex-automata", "0.4.19", "41d60ef07df457506a0a1a2073112eb4aae5733dbd2813c3da77d1b0fd441158"),
        ("regex-syntax", "0.8.12", "d902046e6a28a1e4c3cab97258a0ce11e994903f01c2d97a9447a0b3df85f4f6"),
        ("same-file", "1.0.6", "93fc1dc3aaa9bfed95e02e6eadabb4baf7e3078b0bd1b4d7b6b0b68378900502"),
        ("serde", "1.0.229", "4148590afebada386688f18773da617792bf2ef03ffc1e4cbd2b1d45b023e0ba"),
        ("serde_core", "1.0.229", "67dca2c9c51e58a4791a4b1ed58308b39c64224d349a935ab5039aa360942a48"),
        ("serde_derive", "1.0.229", "e7a5d71263a5a7d47b41f6b3f06ba276f10cc18b0931f1799f710578e2309348"),
        ("serde_json", "1.0.154", "e7e9cc8b1b85264074fbcc02a88680c4096b1e47df8f739dceb03bf482f04bd6"),
        ("sha2", "0.10.9", "a7507d819769d01a365ab707794a4084392c824f54a7a6a7862f8c3d0892b283"),
        ("shlex", "2.0.1", "f8fadd59c855ef2080decdef8ff161eb6661b86933c9d82e5ba29dc602a55aba"),
        ("socket2", "0.6.5", "c3d1e2c7f27f8d4cb10542a02c49005dbd6e93095799d6f3be745fae9f8fedd4"),
        ("syn", "2.0.119", "872831b642d1a07999a962a351ed35b955ea2cfc8f3862091e2a240a84f17297"),
        ("syn", "3.0.10", "4ae9ccbea3a7b0b09443036490c8f34a8b1b760fd345e5c0dae0aac718faea79"),
        ("target-lexicon", "0.13.5", "adb6935a6f5c20170eeceb1a3835a49e12e19d792f6dd344ccc76a985ca5a6ca"),
        ("thiserror", "2.0.21", "09e52cb86a36cede5cb101bf8908837b3e4c6e5e59fe7fd85c23fb56200d189e"),
        ("thiserror-impl", "2.0.21", "fe5197923287db20a58125f0bc85c062f7f2c892de97b18c356f9efb14b28524"),
        ("tinytemplate", "1.2.1", "be4d6b5f19ff7664e8c98d03e2139cb510db9b0a60b55f8e8709b689d939b6bc"),
        ("typenum", "1.20.1", "b6f5e870be6c3b371b77fe0ee0bafb859fa4964b4404c27de1d380043c4dda20"),
        ("unarray", "0.1.4", "eaea85b334db583fe3274d12b4cd1880032beab409c0d774be044d4480ab9a94"),
        ("unicode-ident", "1.0.27", "a2c754d6c33795a1c324727428e5a7dedb5b06195f9890bdbcba760d3e246563"),
        ("version_check", "0.9.5", "0b928f33d975fc6ad9f86c8f283853ad26bdd5b10b7f1542aa2fa15e2289105a"),
        ("walkdir", "2.5.1", "b42e295b7452c4604982280d8586001fcad9b8b201cac67bca9771e7a7475403"),
        ("winapi", "0.3.9", "5c839a674fcd7a98952e593242ea400abe93992746761e38641405d28b00f419"),
        ("winapi-i686-pc-windows-gnu", "0.4.0", "ac3b87c63620426dd9b991e5ce0329eff545bccbbb34f3be09ff6fb6ab51b7b6"),
        ("winapi-util", "0.1.11", "c2a7b1c03c876122aa43f3020e6c3c3ee5c05081c9a00739faf7503aeba10d22"),
        ("winapi-x86_64-pc-windows-gnu", "0.4.0", "712e227841d057c1ee1cd2fb22fa7e5a5461ae8e48fa2ca79ec42cfc1931183f"),
        ("windows-link", "0.2.1", "f0805222e57f7521d6a62e36fa9163bc891acd422f971defe97d64e70d0a4fe5"),
        ("windows-sys", "0.61.2", "ae137229bcbd6cdf0f7b80a31df61766145077ddf49416a728b02cb3921ff3fc"),
        ("zerocopy", "0.8.64", "ed43f3060383c64b000f3c630550aebdfa9d3b76d48de32390483dd2cc7e0865"),
        ("zerocopy-derive", "0.8.64", "a5cbd820fe3e35fb38c83b6dc7e6b1618bc46e0cd10073ae94e8d52dc468d8b9"),
        ("zmij", "1.0.23", "29666d0abbfad1e3dc4dcf6144730dd3a3ab225bbbdac83319345b1b44ccfc1b"),
    )
    # end of what is written

    # Fetched like the source, so that a mirror holds them and the build needs no network.
    for _name, _version, _sha256 in crates:
        resource(
            name=f"crate-{_name}-{_version}",
            url=f"https://static.crates.io/crates/{_name}/{_name}-{_version}.crate",
            sha256=_sha256,
            extension="tar.gz",
            destination="vendor",
            placement=f"{_name}-{_version}",
        )

    depends_on("c", type="build")  # rustc links by it

    with default_args(type="build"):
        depends_on("rust@1.86:")
        depends_on("py-maturin@1.9.4:1")

    with default_args(type=("build", "run")):
        depends_on("python@3.8:")

    with default_args(type="run"):
        depends_on("py-torch@1.9:")
        depends_on("py-packaging")
        depends_on("py-importlib-metadata", when="^python@3.9")

    @run_before("install")
    def vendor_crates(self):
        """Let cargo take the crates that Spack fetched.

        https://doc.rust-lang.org/cargo/reference/source-replacement.html
        """
        source = Path(self.stage.source_path)
        for name, version, sha256 in self.crates:
            checksum = source / "vendor" / f"{name}-{version}" / ".cargo-checksum.json"
            checksum.write_text(json.dumps({"files": {}, "package": sha256}))
        config = source / ".cargo/config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text('[source.crates-io]\nreplace-with = "vendor"\n\n[source.vendor]\ndirectory = "vendor"\n')
