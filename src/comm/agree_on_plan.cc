// The last phase of init: rank 0 decides how calls run, and all ranks see that they hold the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/fnv.hpp"
#include "base/log.hpp"
#include "comm/communicator.hpp"
#include "comm/machines.hpp"
#include "plan/forced_algorithm.hpp"
#include "plan/pricing.hpp"
#include "plan/protocols.hpp"

namespace gyre {
namespace {

std::vector<std::byte> to_bytes(std::uint64_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

Result<TuningTable> tuning_table(const Settings& settings) {
  if (settings.tuning_file.empty()) return TuningTable{};
  return TuningTable::load(settings.tuning_file);
}

std::uint64_t hash_of(const PlanFacts& facts) {
  Fnv hash;
  hash.add_number(static_cast<std::uint64_t>(facts.world));
  hash.add_number(static_cast<std::uint64_t>(facts.ranks_per_host));
  for (const Forced& forced : facts.forced) {
    hash.add_number(static_cast<std::uint64_t>(forced.algorithm));
    hash.add_number(forced.schedule != nullptr);
    hash.add_number(forced.slice_bytes);
  }
  for (const AlgorithmSet set : facts.allowed) hash.add_number(set);
  hash.add_number(facts.reproducible);
  for (const bool allowed : facts.short_form) hash.add_number(allowed);
  hash.add_number(facts.slots);
  hash.add_number(facts.slot_bytes);
  hash.add_number(facts.one_shot_bytes);
  for (const std::byte byte : encode(facts.choices)) hash.add(std::to_integer<std::uint8_t>(byte));
  return hash.value();
}

}  // namespace

// Whether every rank reaches every other one of its host through memory.
Result<bool> Communicator::share_memory_within_hosts(Deadline deadline) {
  bool memory = true;
  const std::string& here = facts_[static_cast<std::size_t>(rank_)].place;
  for (std::size_t peer = 0; peer < transport_of_.size(); ++peer) {
    const Transport* transport = transport_of_[peer];
    if (transport == nullptr || facts_[peer].place != here) continue;
    memory = memory && !transport->polls();
  }
  GYRE_TRY_ASSIGN(const auto views,
                  control_->all_gather(to_bytes(memory ? 1 : 0), "lane kinds", deadline, &abort_));
  return std::all_of(views.begin(), views.end(),
                     [](const auto& view) { return view == to_bytes(1); });
}

// Rank 0 alone prices the candidates: what it reads (GYRE_TUNING_FILE) and how it rounds is its
// own.
Result<void> Communicator::choose_for_all(Deadline deadline) {
  Blob mine;
  if (rank_ == 0) {
    GYRE_TRY_ASSIGN(const TuningTable table, tuning_table(settings_));
    mine = encode(Pricing(plan_facts_, table).choose());
  }
  GYRE_TRY_ASSIGN(const auto blobs, control_->all_gather(mine, "the plan", deadline, &abort_));
  GYRE_TRY_ASSIGN(plan_facts_.choices, decode_choices(blobs[0]));
  if (rank_ == 0 && log_enabled(LogLevel::info, Subsystem::tuning)) {
    for (const CallKind kind : kPlannedKinds) {
      log_info(Subsystem::tuning, "plan of {} ranks: {}", world_,
               describe(plan_facts_.choices, kind));
    }
  }
  return {};
}

Result<void> Communicator::agree_on_plan(Deadline deadline) {
  PlanFacts& facts = plan_facts_;
  facts.world = world_;
  facts.reproducible = settings_.reproducible;
  facts.slots = static_cast<std::uint32_t>(settings_.slots);
  facts.slot_bytes = static_cast<std::uint64_t>(settings_.slot_bytes);
  facts.one_shot_bytes = static_cast<std::uint64_t>(settings_.one_shot_bytes);
  facts.ranks_per_host = ranks_per_host(facts_);
  GYRE_TRY_ASSIGN(facts.allowed, read_algorithm_list(settings_.algo));
  GYRE_TRY_ASSIGN(facts.short_form, read_short_forms(settings_.proto));
  limit_channels(settings_.min_channels, settings_.max_channels, facts.allowed);
  GYRE_TRY_ASSIGN(const bool memory, share_memory_within_hosts(deadline));
  facts.machine = machine_facts(facts_, memory);
  GYRE_TRY(force_algorithms(settings_.gyre_algo, facts));
  // Kernels have a plan of their own (device_choice), which needs no prices.
  if (executor_ != nullptr) GYRE_TRY(choose_for_all(deadline));
  GYRE_TRY_ASSIGN(const auto hashes,
                  control_->all_gather(to_bytes(hash_of(facts)), "plan hash", deadline, &abort_));
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) {
      return Error{Status::invalid_usage,
                   fmt::format("{} and {} plan differently although their settings agree; use one "
                               "build on all ranks",
                               watch_->name(0), watch_->name(static_cast<int>(rank)))};
    }
  }
  return {};
}

}  // namespace gyre
