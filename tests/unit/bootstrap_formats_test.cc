// The bootstrap's pure parts: addresses, interfaces, ids, frames, messages, URLs.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bootstrap/address.hpp"
#include "bootstrap/derive_key.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/id_file.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/messages.hpp"
#include "bootstrap/unique_id.hpp"
#include "bootstrap/world_url.hpp"

namespace gyre {
namespace {

Address address(const std::string& text) {
  const auto resolved = resolve({text, 0, true}, AF_UNSPEC);
  EXPECT_TRUE(resolved) << text;
  return resolved->front();
}

std::vector<Address> addresses(std::initializer_list<const char*> texts) {
  std::vector<Address> all;
  for (const char* text : texts) all.push_back(address(text));
  return all;
}

TEST(Address, TextAndProperties) {
  EXPECT_EQ(address("192.0.2.1").with_port(80).text(), "192.0.2.1:80");
  EXPECT_EQ(address("2001:db8::1").with_port(80).text(), "[2001:db8::1]:80");
  EXPECT_EQ(address("::1").text(), "::1");
  EXPECT_EQ(address("::ffff:192.0.2.1"), address("192.0.2.1"));
  EXPECT_TRUE(address("127.3.2.1").is_loopback());
  EXPECT_TRUE(address("::1").is_loopback());
  EXPECT_FALSE(address("::2").is_loopback());
  EXPECT_TRUE(address("fe80::1").is_link_local());
  EXPECT_FALSE(address("fec0::1").is_link_local());
  EXPECT_TRUE(Address::any(AF_INET6).is_any());
}

TEST(Address, SurvivesTheSystemsForm) {
  Address link_local = address("fe80::1").with_port(7);
  link_local.scope = 3;
  for (const Address& one : {address("192.0.2.1").with_port(65535), link_local}) {
    sockaddr_storage storage{};
    one.to_sockaddr(storage);
    const auto back = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, one);
  }
  EXPECT_FALSE(Address::from_sockaddr(nullptr));
}

TEST(HostPortText, TakesTheThreeForms) {
  EXPECT_EQ(parse_host_port("node7.cluster:29500")->host, "node7.cluster");
  EXPECT_FALSE(parse_host_port("node7:1")->numeric);
  EXPECT_TRUE(parse_host_port("192.0.2.1:1")->numeric);
  EXPECT_EQ(parse_host_port("[2001:db8::1]:9")->host, "2001:db8::1");
  for (const char* bad : {"", "host", "host:", ":1", "host:0", "host:65536", "2001:db8::1:9",
                          "[::1]", "ho st:1", "host:1x", "a/b:1"}) {
    EXPECT_FALSE(parse_host_port(bad)) << bad;
  }
}

TEST(Interfaces, PatternsAsNcclHasThem) {
  EXPECT_TRUE(interface_matches("eth", "eth0"));
  EXPECT_TRUE(interface_matches("ib,eth", "eth0"));
  EXPECT_FALSE(interface_matches("ib", "eth0"));
  EXPECT_FALSE(interface_matches("=eth", "eth0"));
  EXPECT_TRUE(interface_matches("=eth0", "eth0"));
  EXPECT_FALSE(interface_matches("^eth", "eth0"));
  EXPECT_TRUE(interface_matches("^docker,lo", "eth0"));
  EXPECT_FALSE(interface_matches("^=eth0", "eth0"));
  EXPECT_TRUE(interface_matches("^=eth", "eth0"));
}

// A machine with a bit of everything.
std::vector<InterfaceAddress> machine() {
  return {{"lo", address("127.0.0.1"), true},       {"lo", address("::1"), true},
          {"docker0", address("172.17.0.1"), true}, {"eth0", address("192.0.2.5"), true},
          {"eth0", address("fe80::5"), true},       {"veth9", address("198.51.100.9"), false},
          {"eth0", address("2001:db8::5"), true},   {"ib0", address("10.1.1.5"), true}};
}

TEST(Interfaces, PreferenceWithoutSettings) {
  // InfiniBand first, then ordinary ones; nothing that is down; docker's bridge only in need.
  EXPECT_EQ(preferred_addresses(machine(), {}),
            addresses({"10.1.1.5", "192.0.2.5", "2001:db8::5", "fe80::5", "127.0.0.1", "::1"}));
}

TEST(Interfaces, PreferenceWithSettings) {
  Settings chosen;
  chosen.socket_ifname = "=eth0";
  EXPECT_EQ(preferred_addresses(machine(), chosen),
            addresses({"192.0.2.5", "2001:db8::5", "fe80::5"}));
  chosen.socket_family = "AF_INET6";
  EXPECT_EQ(preferred_addresses(machine(), chosen), addresses({"2001:db8::5", "fe80::5"}));
  chosen = {};
  chosen.socket_ifname = "docker";
  EXPECT_EQ(preferred_addresses(machine(), chosen), addresses({"172.17.0.1"}));
  chosen.socket_ifname = "veth";
  EXPECT_TRUE(preferred_addresses(machine(), chosen).empty());
  chosen = {};
  chosen.comm_id = "192.0.2.77:4000";
  EXPECT_EQ(preferred_addresses(machine(), chosen)[1], address("192.0.2.5"));
}

TEST(Interfaces, DockersBridgeIsBetterThanNothing) {
  const std::vector<InterfaceAddress> lonely = {{"lo", address("127.0.0.1"), true},
                                                {"docker0", address("172.17.0.1"), true}};
  EXPECT_EQ(preferred_addresses(lonely, {}), addresses({"172.17.0.1", "127.0.0.1"}));
}

TEST(Interfaces, AnUnusableChoiceIsAnErrorThatListsWhatThereIs) {
  Settings chosen;
  chosen.socket_ifname = "nosuch";
  const auto local = local_addresses(chosen);
  ASSERT_FALSE(local);
  EXPECT_NE(local.error().text.find("nosuch"), std::string::npos);
  EXPECT_NE(local.error().text.find("127.0.0.1"), std::string::npos) << local.error().text;
}

TEST(Reachable, LoopbackOnlyWithinOneNetworkStack) {
  Endpoint endpoint{network_identity(), addresses({"192.0.2.5", "127.0.0.1"})};
  EXPECT_EQ(reachable(endpoint), addresses({"127.0.0.1", "192.0.2.5"}));
  endpoint.network ^= 1;
  EXPECT_EQ(reachable(endpoint), addresses({"192.0.2.5"}));
}

TEST(Reachable, ALinkLocalAddressIsDialledOnALink) {
  // An id has no room for the link, also when it comes from this very host.
  const Endpoint endpoint{network_identity(), addresses({"fe80::1", "192.0.2.5"})};
  for (const Address& one : reachable(endpoint)) {
    EXPECT_TRUE(!one.is_link_local() || one.scope != 0) << one.text();
  }
}

TEST(Reachable, EndpointsSurviveTheWire) {
  Endpoint endpoint{0x1122334455667788, addresses({"192.0.2.5", "2001:db8::5", "::1"})};
  for (auto& one : endpoint.addresses) one.port = 4242;
  const auto bytes = encode(endpoint);
  const auto back = decode_endpoint(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, endpoint);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_endpoint(std::span(bytes).first(cut))) << cut;
  }
}

TEST(UniqueIdFormat, KeepsWhatFits) {
  IdContents contents{
      random_job_key(), {77, addresses({"192.0.2.5", "2001:db8::5", "127.0.0.1"})}, true};
  for (auto& one : contents.root.addresses) one.port = 4242;
  auto back = decode(encode(contents));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, contents);
  // More than fit: the first ones stay, and loopback.
  contents.root.addresses.clear();
  for (int i = 1; i < 9; ++i) {
    contents.root.addresses.push_back(address("2001:db8::" + std::to_string(i)).with_port(4242));
  }
  contents.root.addresses.push_back(address("127.0.0.1").with_port(4242));
  back = decode(encode(contents));
  ASSERT_TRUE(back);
  ASSERT_GE(back->root.addresses.size(), 3U);
  EXPECT_EQ(back->root.addresses.front(), contents.root.addresses.front());
  EXPECT_EQ(back->root.addresses.back(), contents.root.addresses.back());
}

TEST(UniqueIdFormat, EveryFlippedBitIsNoticed) {
  IdContents contents{random_job_key(), {77, {address("192.0.2.5").with_port(1)}}, false};
  const UniqueId id = encode(contents);
  for (std::size_t bit = 0; bit < 8 * sizeof id; ++bit) {
    UniqueId damaged = id;
    damaged.bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode(damaged)) << bit;
  }
}

TEST(UniqueIdFormat, AFixedPortGivesEverybodyTheSameId) {
  const auto a = unique_id_for("127.0.0.1:4242");
  const auto b = unique_id_for("127.0.0.1:4242");
  const auto other = unique_id_for("127.0.0.1:4243");
  ASSERT_TRUE(a && b && other);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(decode(*a)->key, decode(*other)->key);
  ::setenv("GYRE_JOB_ID", "another run", 1);
  EXPECT_NE(decode(*unique_id_for("127.0.0.1:4242"))->key, decode(*a)->key);
  ::unsetenv("GYRE_JOB_ID");
}

TEST(HandshakeMacs, DependOnEverything) {
  const JobKey key = random_job_key();
  Opening opening{{Purpose::lane, 1, 2, 3}, key.nonce, {}};
  ConnectionNonce listener{};
  fill_random(opening.dialer);
  fill_random(listener);
  const Mac mac = handshake_mac(key.secret, Label::dial, opening, listener);
  EXPECT_TRUE(equal_macs(mac, handshake_mac(key.secret, Label::dial, opening, listener)));
  EXPECT_FALSE(equal_macs(mac, handshake_mac(key.secret, Label::accept, opening, listener)));
  const auto expect_other = [&](const Opening& changed) {
    EXPECT_FALSE(equal_macs(mac, handshake_mac(key.secret, Label::dial, changed, listener)));
  };
  auto changed = opening;
  changed.hello.from_rank = 9;
  expect_other(changed);
  changed = opening;
  changed.hello.to_rank = 9;
  expect_other(changed);
  changed = opening;
  changed.hello.index = 9;
  expect_other(changed);
  changed = opening;
  changed.hello.purpose = Purpose::control;
  expect_other(changed);
  changed = opening;
  changed.job[5] ^= 1;
  expect_other(changed);
  changed = opening;
  changed.dialer[5] ^= 1;
  expect_other(changed);
  listener[5] ^= 1;
  expect_other(opening);
  EXPECT_NE(derive_key(key, "a"), derive_key(key, "b"));
}

TEST(Frames, AreFoundInAnyPieces) {
  std::vector<std::byte> stream;
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300}}) {
    const std::vector<std::byte> payload(size, std::byte{7});
    const auto frame = encode(FrameType::part, size, payload);
    stream.insert(stream.end(), frame->begin(), frame->end());
  }
  for (std::size_t piece = 1; piece < stream.size(); piece += 5) {
    FrameDecoder decoder(300);
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.feed(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      for (auto frame = decoder.next(); frame && *frame; frame = decoder.next()) {
        EXPECT_EQ((*frame)->sequence, (*frame)->payload.size());
        sizes.push_back((*frame)->payload.size());
      }
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 1, 300}));
  }
}

TEST(Frames, NonsenseIsRefused) {
  const auto good = *encode(FrameType::part, 1, {});
  const auto refused = [&](std::size_t at, int value) {
    auto bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    FrameDecoder decoder(100);
    decoder.feed(bytes);
    return !decoder.next();
  };
  EXPECT_TRUE(refused(0, 101));   // longer than allowed
  EXPECT_TRUE(refused(3, 0x80));  // much longer
  EXPECT_TRUE(refused(4, 0));     // no type
  EXPECT_TRUE(refused(4, 99));
  EXPECT_TRUE(refused(6, 1));  // must be zero
  EXPECT_FALSE(refused(0, 0));
}

TEST(Messages, RanksAsPeopleWriteThem) {
  const auto text = [](std::vector<int> ranks) { return text_of_ranks(ranks); };
  EXPECT_EQ(text({3}), "rank 3");
  EXPECT_EQ(text({3, 4}), "ranks 3, 4");
  EXPECT_EQ(text({0, 3, 4, 5, 9}), "ranks 0, 3-5, 9");
}

TEST(Messages, LongTextsAreCut) {
  const ErrorMessage message{3, {Status::system, std::string(100'000, 'x')}};
  const auto back = decode_error(encode(message));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->error.text.size(), kMaxTextBytes);
}

TEST(WorldUrls, ThreeFormsAndNothingElse) {
  EXPECT_EQ(parse_world_url("env://")->kind, WorldUrl::Kind::launcher);
  const auto tcp = parse_world_url("tcp://host:29500?rank=1&world=4");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(*tcp, (WorldUrl{WorldUrl::Kind::tcp, "host:29500", 1, 4}));
  const auto file = parse_world_url("file:///tmp/x");
  ASSERT_TRUE(file);
  EXPECT_EQ(*file, (WorldUrl{WorldUrl::Kind::file, "/tmp/x", -1, -1}));
  for (const char* bad :
       {"", "env", "env://x", "tcp://host", "file://relative", "http://a:1", "tcp://h:1?rank=-1",
        "tcp://h:1?rank=", "tcp://h:1?world=0", "tcp://h:1?size=2"}) {
    const auto result = parse_world_url(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_NE(result.error().text.find("tcp://host:port"), std::string::npos);
  }
}

TEST(IdFiles, WholeOrNotAtAll) {
  std::string folder = (std::filesystem::temp_directory_path() / "gyre-id-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = id_file_path(folder, "job");
  EXPECT_NE(path, id_file_path(folder, "another job"));
  EXPECT_EQ(read_id_file(path).status(), Status::busy);
  const IdContents contents{random_job_key(), {1, {address("192.0.2.5").with_port(1)}}, false};
  const UniqueId id = encode(contents);
  ASSERT_TRUE(write_id_file(path, id));
  EXPECT_EQ(*read_id_file(path), id);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  remove_id_file(path, encode(IdContents{random_job_key(), contents.root, false}));
  EXPECT_TRUE(read_id_file(path));  // somebody else's
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(read_id_file(path).status(), Status::busy);
  ASSERT_TRUE(write_id_file(path, id));
  remove_id_file(path, id);
  EXPECT_EQ(read_id_file(path).status(), Status::busy);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  // A full disk, or nearly.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto half = write_id_file(path, id);
    ::_exit(!half && half.error().text.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
  const auto nowhere = write_id_file(folder + "/nosuch/x.id", id);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("nosuch"), std::string::npos);
}

}  // namespace
}  // namespace gyre
