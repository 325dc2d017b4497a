#include "bootstrap/world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/contain.hpp"
#include "base/process.hpp"
#include "base/settings.hpp"
#include "bootstrap/control.hpp"
#include "bootstrap/id_file.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/wire.hpp"
#include "bootstrap/world_url.hpp"

namespace gyre {
namespace {

// The hub tells all_gather() whatever these would say.
class NoEvents final : public ControlEvents {
 public:
  void announced(int, Error) override {}
  void lost(int, std::string) override {}
  void left(int) override {}
};

// What each rank tells the others about itself.
struct WorldFacts {
  Endpoint endpoint;
  std::string machine;
};

std::vector<std::byte> encode_facts(const Endpoint& endpoint) {
  WireWriter writer;
  writer.text(fmt::format("{} {}", host_name(), boot_id()));
  writer.raw(encode(endpoint));
  return writer.take();
}

Result<WorldFacts> decode_facts(std::span<const std::byte> bytes) {
  constexpr std::size_t kMaxMachine = 512;
  WireReader reader(bytes);
  WorldFacts facts;
  facts.machine = reader.text(kMaxMachine);
  if (reader.failed()) return Error{Status::internal, "a rank sent malformed facts"};
  GYRE_TRY_ASSIGN(facts.endpoint, decode_endpoint(bytes.subspan(4 + facts.machine.size())));
  return facts;
}

// Who this process is, and where the others are.
struct Place {
  WorldUrl url;
  int rank = 0;
  int world = 1;
  int local_rank = -1;
};

Result<Place> find_place(std::string_view text, const WorldOptions& options) {
  Place place;
  GYRE_TRY_ASSIGN(place.url, parse_world_url(text));
  GYRE_TRY_ASSIGN(const Launch launch, read_launch(process_environment(), parent_identity()));
  const auto first = [](int a, int b, int c) { return a >= 0 ? a : b >= 0 ? b : c; };
  const bool launched = !launch.launcher.empty();
  const bool from_launcher = place.url.kind == WorldUrl::Kind::launcher;
  place.rank = first(options.rank, place.url.rank, launched || from_launcher ? launch.rank : -1);
  place.world =
      first(options.world, place.url.world, launched || from_launcher ? launch.world : -1);
  place.local_rank = launch.local_rank;
  if (place.rank < 0 || place.world < 1 || place.rank >= place.world) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: rank {} of a world of {}: give ?rank=R&world=N, or start the "
                             "processes with gyre run, torchrun, mpirun or srun",
                             text, place.rank, place.world)};
  }
  if (from_launcher && place.world > 1) {
    if (launch.rendezvous.empty()) {
      return Error{Status::invalid_usage,
                   fmt::format("{} started {} ranks, but does not say where rank 0 is: set "
                               "MASTER_ADDR and MASTER_PORT for all of them, or use "
                               "file:///a/folder/they/share",
                               launched ? launch.launcher : "no launcher", place.world)};
    }
    place.url.kind = WorldUrl::Kind::tcp;
    place.url.place = launch.rendezvous;
  }
  return place;
}

Result<Meeting> meet_by_file(const Place& place, std::span<const std::byte> facts,
                             Deadline deadline, const AbortState* abort) {
  const std::string path = id_file_path(place.url.place, launcher_job_name());
  if (place.rank != 0) {
    return meet_at([&] { return read_id_file(path); }, place.rank, place.world, facts, deadline,
                   abort);
  }
  GYRE_TRY_ASSIGN(const UniqueId id, create_unique_id());
  GYRE_TRY(write_id_file(path, id));
  auto meeting = meet(id, 0, place.world, facts, deadline, abort);
  remove_id_file(path, id);
  return meeting;
}

Result<Meeting> meet_at_place(const Place& place, std::span<const std::byte> facts,
                              Deadline deadline, const AbortState* abort) {
  if (place.world == 1) return Meeting{{{facts.begin(), facts.end()}}, {}, nullptr};
  if (place.url.kind == WorldUrl::Kind::file) return meet_by_file(place, facts, deadline, abort);
  GYRE_TRY_ASSIGN(const UniqueId id, unique_id_for(place.url.place, deadline, abort));
  return meet(id, place.rank, place.world, facts, deadline, abort);
}

class StarWorld final : public World {
 public:
  StarWorld(const Place& place, milliseconds timeout, AbortState* abort)
      : rank_(place.rank),
        size_(place.world),
        local_rank_(place.local_rank),
        timeout_(timeout),
        abort_(abort != nullptr ? abort : &own_abort_) {}
  ~StarWorld() override {
    // Without the memory for a goodbye the others see a loss.
    (void)contained("", [&]() -> Result<void> {
      if (control_) control_->goodbye();
      return {};
    });
  }

  Result<void> open(const Place& place);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) override {
    return control_->all_gather(mine, "all-gather of the processes", Deadline::after(timeout_),
                                abort_);
  }
  Result<void> broadcast(std::vector<std::byte>& bytes, int root) override;
  Result<void> barrier() override;
  Result<UniqueId> make_unique_id() override;

 private:
  Result<void> connect(const Meeting& meeting, Deadline deadline);

  int rank_;
  int size_;
  int local_rank_;
  int local_size_ = 1;
  milliseconds timeout_;
  AbortState own_abort_;
  AbortState* abort_;
  NoEvents events_;
  std::unique_ptr<Control> control_;
};

Result<void> StarWorld::open(const Place& place) {
  const Deadline deadline = Deadline::after(timeout_);
  Endpoint own;
  // A world of one needs no network.
  if (size_ > 1) {
    GYRE_TRY_ASSIGN(own, local_endpoint());
  }
  GYRE_TRY_ASSIGN(const Meeting meeting, meet_at_place(place, encode_facts(own), deadline, abort_));
  Result<void> connected = connect(meeting, deadline);
  if (meeting.attendance == nullptr) return connected;
  if (connected) {
    meeting.attendance->goodbye();
  } else {
    meeting.attendance->give_up(connected.error());
  }
  return connected;
}

Result<void> StarWorld::connect(const Meeting& meeting, Deadline deadline) {
  if (meeting.attendance) meeting.attendance->watch(*abort_);
  std::vector<WorldFacts> facts;
  for (const auto& bytes : meeting.facts) {
    GYRE_TRY_ASSIGN(WorldFacts one, decode_facts(bytes));
    facts.push_back(std::move(one));
  }
  const auto same_machine = [&](const WorldFacts& other) {
    return other.machine == facts[static_cast<std::size_t>(rank_)].machine;
  };
  local_size_ = static_cast<int>(std::count_if(facts.begin(), facts.end(), same_machine));
  if (local_rank_ < 0) {
    local_rank_ =
        static_cast<int>(std::count_if(facts.begin(), facts.begin() + rank_, same_machine));
  }
  const auto hub = rank_ == 0 ? std::vector<Address>{} : reachable(facts[0].endpoint);
  GYRE_TRY_ASSIGN(control_,
                  Control::open(meeting.session, rank_, size_, hub, &events_, deadline, abort_));
  if (meeting.attendance) meeting.attendance->reached_rank_0();
  // Whoever returns may rely on the star: nobody is still on the way to it.
  GYRE_TRY(control_->all_gather({}, "joining", deadline, abort_));
  return {};
}

Result<void> StarWorld::broadcast(std::vector<std::byte>& bytes, int root) {
  if (root < 0 || root >= size_) {
    return Error{Status::invalid_argument, fmt::format("root {} of {} ranks", root, size_)};
  }
  GYRE_TRY_ASSIGN(auto parts, control_->all_gather(rank_ == root ? std::span<const std::byte>(bytes)
                                                                 : std::span<const std::byte>(),
                                                   fmt::format("broadcast from rank {}", root),
                                                   Deadline::after(timeout_), abort_));
  bytes = std::move(parts[static_cast<std::size_t>(root)]);
  return {};
}

Result<void> StarWorld::barrier() {
  GYRE_TRY(control_->all_gather({}, "barrier", Deadline::after(timeout_), abort_));
  return {};
}

Result<UniqueId> StarWorld::make_unique_id() {
  std::vector<std::byte> bytes;
  if (rank_ == 0) {
    auto id = create_unique_id();
    if (!id) {
      control_->announce(id.error());
      return id;
    }
    bytes.assign(id->bytes.begin(), id->bytes.end());
  }
  GYRE_TRY(broadcast(bytes, 0));
  UniqueId id;
  if (bytes.size() != id.bytes.size()) return Error{Status::internal, "rank 0 sent no unique id"};
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

}  // namespace

Result<std::unique_ptr<World>> World::join(std::string_view url, const WorldOptions& options) {
  GYRE_TRY(refuse_in_child());
  if (!settings()) return settings().error();
  GYRE_TRY_ASSIGN(const Place place, find_place(url, options));
  const milliseconds timeout =
      options.timeout.count() > 0 ? options.timeout : milliseconds(settings()->init_timeout_ms);
  auto world = std::make_unique<StarWorld>(place, timeout, options.abort);
  GYRE_TRY(world->open(place));
  return std::unique_ptr<World>(std::move(world));
}

}  // namespace gyre
