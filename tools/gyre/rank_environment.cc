#include "tools/gyre/rank_environment.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <unordered_map>

#include "base/fd.hpp"

namespace gyre::tools {
namespace {

template <typename T>
Result<T> random_bytes() {
  T value{};
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    return system_error("gyre run: getrandom", errno);
  }
  return value;
}

// The port bound to 127.0.0.1, or an error if it is taken. 0 lets the kernel choose.
Result<std::uint16_t> try_port(std::uint16_t port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("gyre run: socket", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, size) != 0) return system_error("gyre run: bind", errno);
  if (::getsockname(socket.get(), generic, &size) != 0) {
    return system_error("gyre run: getsockname", errno);
  }
  return ntohs(address.sin_port);
}

// Below the range that the kernel gives to outgoing connections (32768 and up unless changed), so
// that none of those takes the port between this check and rank 0's listen.
Result<std::uint16_t> free_port() {
  constexpr std::uint16_t kFirst = 20000, kCount = 12768;
  constexpr int kTries = 64;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    GYRE_TRY_ASSIGN(const auto random, random_bytes<std::uint32_t>());
    auto port = try_port(static_cast<std::uint16_t>(kFirst + random % kCount));
    if (port) return port;
  }
  return try_port(0);
}

}  // namespace

Result<Job> create_job(int ranks) {
  using Id = std::array<std::uint64_t, 2>;
  GYRE_TRY_ASSIGN(const Id id, random_bytes<Id>());
  GYRE_TRY_ASSIGN(const std::uint16_t port, free_port());
  return Job{ranks, port, fmt::format("{:016x}{:016x}", id[0], id[1])};
}

std::vector<std::string> rank_environment(std::span<const std::string> inherited, const Job& job,
                                          int rank, std::span<const std::string> extra) {
  std::vector<std::string> variables;
  std::unordered_map<std::string, std::size_t> place;
  const auto set = [&](std::string variable) {
    const auto [found, fresh] =
        place.try_emplace(variable.substr(0, variable.find('=')), variables.size());
    if (fresh) {
      variables.push_back(std::move(variable));
    } else {
      variables[found->second] = std::move(variable);
    }
  };
  for (const auto& variable : inherited) set(variable);
  if (job.ranks > 1 && !place.contains("OMP_NUM_THREADS")) set("OMP_NUM_THREADS=1");
  set(fmt::format("RANK={}", rank));
  set(fmt::format("LOCAL_RANK={}", rank));
  set(fmt::format("WORLD_SIZE={}", job.ranks));
  set(fmt::format("LOCAL_WORLD_SIZE={}", job.ranks));
  set("GROUP_RANK=0");
  set("GROUP_WORLD_SIZE=1");
  set("MASTER_ADDR=127.0.0.1");
  set(fmt::format("MASTER_PORT={}", job.port));
  set("GYRE_JOB_ID=" + job.id);
  set("TORCHELASTIC_RUN_ID=" + job.id);
  for (const auto& variable : extra) set(variable);
  return variables;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

}  // namespace gyre::tools
