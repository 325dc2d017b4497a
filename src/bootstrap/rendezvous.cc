#include "bootstrap/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/process.hpp"
#include "bootstrap/dial.hpp"
#include "bootstrap/hub.hpp"
#include "bootstrap/socket_util.hpp"
#include "bootstrap/spoke.hpp"

namespace gyre {
namespace {

// Where rank 0 listens, so that every address the name stands for on any host is answered.
Address own_side_of(const std::vector<Address>& named) {
  const bool v6 = std::any_of(named.begin(), named.end(),
                              [](const Address& address) { return address.family == AF_INET6; });
  const int family = v6 && open_tcp_socket(AF_INET6) ? AF_INET6 : AF_INET;
  return Address::any(family).with_port(named.front().port);
}

// Connects to the rendezvous as `rank`; rank 0 of an id with a fixed port serves it as well.
Result<std::shared_ptr<Spoke>> join(const UniqueId& id, int rank, int world, Deadline deadline,
                                    const AbortState* abort) {
  GYRE_TRY(refuse_in_child());
  if (world < 1 || rank < 0 || rank >= world || world > kMaxWorld) {
    return Error{Status::invalid_argument, fmt::format("rank {} of {} ranks", rank, world)};
  }
  GYRE_TRY_ASSIGN(const IdContents contents, decode(id));
  auto candidates = reachable(contents.root);
  if (contents.fixed_port && rank == 0) {
    const Address own = own_side_of(contents.root.addresses);
    GYRE_TRY(Hub::start({contents.key, Purpose::rendezvous, world, own}));
    candidates = {Address::loopback(own.family).with_port(own.port)};
  }
  const Hello hello{Purpose::rendezvous, static_cast<std::uint32_t>(rank), 0, 0};
  auto fd = dial(candidates, contents.key, hello, deadline, abort, true);
  if (!fd) {
    Error error = std::move(fd).error();
    error.text = fmt::format("rank {}: {}", rank, error.text);
    return error;
  }
  return Spoke::start(*std::move(fd), rank, world, nullptr);
}

}  // namespace

Result<std::vector<std::vector<std::byte>>> rendezvous(const UniqueId& id, int rank, int world,
                                                       std::span<const std::byte> facts,
                                                       Deadline deadline, const AbortState* abort) {
  if (facts.size() > kMaxFactsBytes) {
    return Error{Status::invalid_usage, fmt::format("rank {}'s facts have {} bytes, {} are allowed",
                                                    rank, facts.size(), kMaxFactsBytes)};
  }
  GYRE_TRY_ASSIGN(const auto spoke, join(id, rank, world, deadline, abort));
  auto all = spoke->all_gather(facts, "init", deadline, abort);
  if (all) spoke->goodbye();
  spoke->stop();
  return all;
}

Result<void> report_failure(const UniqueId& id, int rank, int world, const Error& error,
                            Deadline deadline) {
  GYRE_TRY_ASSIGN(const auto spoke, join(id, rank, world, deadline, nullptr));
  spoke->announce(error);
  spoke->stop();
  return {};
}

}  // namespace gyre
