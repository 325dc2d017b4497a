#include "collectives/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "collectives/binomial.hpp"
#include "collectives/direct.hpp"
#include "collectives/dissemination.hpp"
#include "collectives/halving_doubling.hpp"
#include "collectives/hierarchical.hpp"
#include "collectives/pairwise.hpp"
#include "collectives/recursive_doubling.hpp"
#include "collectives/ring.hpp"
#include "collectives/star.hpp"
#include "collectives/tree.hpp"

namespace gyre {
namespace {

using U = std::uint32_t;

// The signature of the table for builders without a root, or without hosts, or without both.
template <Program (*Build)(U, U)>
Program plain(U rank, U world, U, U) {
  return Build(rank, world);
}
template <Program (*Build)(U, U, U)>
Program rooted(U rank, U world, U root, U) {
  return Build(rank, world, root);
}
template <Program (*Build)(U, U, U)>
Program hosted(U rank, U world, U, U ranks_per_host) {
  return Build(rank, world, ranks_per_host);
}

U half(U world, U) { return std::max(1U, world / 2); }
U half_of_power(U world, U) { return std::max(1U, std::bit_ceil(world) / 2); }
U hosts(U world, U ranks_per_host) { return ranks_per_host == 1 ? 1 : world / ranks_per_host; }
U ranks(U world, U ranks_per_host) { return ranks_per_host == world ? 1 : ranks_per_host; }
U hosts_or_ranks(U world, U ranks_per_host) {
  if (ranks_per_host == 1 || ranks_per_host == world) return 1;
  return std::max(ranks_per_host, world / ranks_per_host);
}

using enum CollectiveKind;

// The span of rounds is a power of two in 16 bits (Rounds).
constexpr std::uint32_t kMostOfRounds = 32'768;

constexpr CatalogueEntry kCatalogue[] = {
    {.algorithm = "star", .kind = all_reduce, .build = plain<star::all_reduce>},
    {.algorithm = "ring",
     .kind = all_reduce,
     .build = plain<ring::all_reduce>,
     .min_slots = 2,
     .fixed_order = false},
    {.algorithm = "two_rings",
     .kind = all_reduce,
     .build = plain<ring::two_rings_all_reduce>,
     .max_world = CatalogueEntry::kMaxWorld / 2,
     .min_slots = 2,
     .fixed_order = false},
    {.algorithm = "tree",
     .kind = all_reduce,
     .build = plain<tree::all_reduce>,
     .fixed_order = false},
    {.algorithm = "double_tree",
     .kind = all_reduce,
     .build = plain<double_tree::all_reduce>,
     .min_slots = 2,
     .fixed_order = false},
    {.algorithm = "one_shot",
     .kind = all_reduce,
     .build = plain<direct::one_shot_all_reduce>,
     .single_producer = false,
     .by_reference = false},
    {.algorithm = "two_shot",
     .kind = all_reduce,
     .build = plain<direct::two_shot_all_reduce>,
     .min_slots = 4},
    {.algorithm = "halving_doubling",
     .kind = all_reduce,
     .build = plain<halving_doubling::all_reduce>,
     .fixed_order = false,
     .run = half},
    {.algorithm = "recursive_doubling",
     .kind = all_reduce,
     .build = plain<recursive_doubling::all_reduce>,
     .single_producer = false,
     .fixed_order = false,
     .by_reference = false},
    {.algorithm = "hierarchical",
     .kind = all_reduce,
     .build = hosted<hierarchical::all_reduce>,
     .min_slots = 2,
     .fixed_order = false,
     .hosts = true,
     .run = hosts},
    {.algorithm = "hierarchical_tree",
     .kind = all_reduce,
     .build = hosted<hierarchical::tree_all_reduce>,
     .min_slots = 2,
     .fixed_order = false,
     .hosts = true},
    {.algorithm = "ring",
     .kind = reduce_scatter,
     .build = plain<ring::reduce_scatter>,
     .min_slots = 2,
     .fixed_order = false},
    {.algorithm = "direct",
     .kind = reduce_scatter,
     .build = plain<direct::reduce_scatter>,
     .min_slots = 2},
    {.algorithm = "halving_doubling",
     .kind = reduce_scatter,
     .build = plain<halving_doubling::reduce_scatter>,
     .fixed_order = false,
     .run = half},
    {.algorithm = "bruck",
     .kind = reduce_scatter,
     .build = plain<bruck::reduce_scatter>,
     .max_world = kMostOfRounds,
     .fixed_order = false,
     .run = half_of_power},
    {.algorithm = "hierarchical",
     .kind = reduce_scatter,
     .build = hosted<hierarchical::reduce_scatter>,
     .min_slots = 2,
     .fixed_order = false,
     .hosts = true,
     .run = hosts},
    {.algorithm = "ring", .kind = all_gather, .build = plain<ring::all_gather>, .min_slots = 2},
    {.algorithm = "direct", .kind = all_gather, .build = plain<direct::all_gather>},
    {.algorithm = "halving_doubling",
     .kind = all_gather,
     .build = plain<halving_doubling::all_gather>,
     .run = half},
    {.algorithm = "bruck",
     .kind = all_gather,
     .build = plain<bruck::all_gather>,
     .max_world = kMostOfRounds,
     .run = half_of_power},
    {.algorithm = "hierarchical",
     .kind = all_gather,
     .build = hosted<hierarchical::all_gather>,
     .min_slots = 2,
     .hosts = true,
     .run = hosts},
    {.algorithm = "ring", .kind = broadcast, .build = rooted<ring::broadcast>},
    {.algorithm = "binomial",
     .kind = broadcast,
     .build = rooted<binomial::broadcast>,
     .max_world = kMostOfRounds},
    {.algorithm = "double_tree", .kind = broadcast, .build = rooted<double_tree::broadcast>},
    {.algorithm = "direct", .kind = broadcast, .build = rooted<direct::broadcast>},
    {.algorithm = "ring", .kind = reduce, .build = rooted<ring::reduce>, .fixed_order = false},
    {.algorithm = "binomial",
     .kind = reduce,
     .build = rooted<binomial::reduce>,
     .max_world = kMostOfRounds,
     .fixed_order = false},
    {.algorithm = "double_tree",
     .kind = reduce,
     .build = rooted<double_tree::reduce>,
     .fixed_order = false},
    {.algorithm = "direct", .kind = reduce, .build = rooted<direct::reduce>},
    {.algorithm = "pairwise", .kind = all_to_all, .build = plain<pairwise::all_to_all>},
    {.algorithm = "direct", .kind = all_to_all, .build = plain<direct::all_to_all>},
    {.algorithm = "hierarchical",
     .kind = all_to_all,
     .build = hosted<hierarchical::all_to_all>,
     .hosts = true,
     .run = hosts_or_ranks},
    {.algorithm = "pairwise", .kind = gather, .build = rooted<pairwise::gather>},
    {.algorithm = "binomial",
     .kind = gather,
     .build = rooted<binomial::gather>,
     .max_world = kMostOfRounds,
     .run = half_of_power},
    {.algorithm = "hierarchical",
     .kind = gather,
     .build = hierarchical::gather,
     .hosts = true,
     .run = ranks},
    {.algorithm = "pairwise", .kind = scatter, .build = rooted<pairwise::scatter>},
    {.algorithm = "binomial",
     .kind = scatter,
     .build = rooted<binomial::scatter>,
     .max_world = kMostOfRounds,
     .run = half_of_power},
    {.algorithm = "hierarchical",
     .kind = scatter,
     .build = hierarchical::scatter,
     .hosts = true,
     .run = ranks},
    {.algorithm = "dissemination", .kind = barrier, .build = plain<dissemination::barrier>},
};

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kCatalogue; }

const CatalogueEntry* find_schedule(std::string_view algorithm, CollectiveKind kind) {
  for (const CatalogueEntry& entry : kCatalogue) {
    if (entry.algorithm == algorithm && entry.kind == kind) return &entry;
  }
  return nullptr;
}

std::vector<Program> programs_of(const CatalogueEntry& entry, std::uint32_t world,
                                 std::uint32_t root, std::uint32_t ranks_per_host) {
  std::vector<Program> programs;
  programs.reserve(world);
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    programs.push_back(entry.build(rank, world, root, ranks_per_host));
  }
  return programs;
}

Result<Report> verify(const CatalogueEntry& entry, std::uint32_t world, std::uint32_t root,
                      const VerifyOptions& options, std::uint32_t ranks_per_host) {
  const auto refuse = [&](std::string_view why) {
    return Error{Status::invalid_argument, fmt::format("{} {} with {} ranks: {}", entry.algorithm,
                                                       name_of(entry.kind), world, why)};
  };
  if (world < 1 || world > entry.max_world) return refuse("not for this world");
  if (world % ranks_per_host != 0) return refuse("its hosts have different numbers of ranks");
  if (options.in_place && !has_in_place(entry.kind)) return refuse("it has no in-place form");
  if (options.by_reference && !entry.by_reference) return refuse("it must not send by reference");
  return verify(programs_of(entry, world, root, ranks_per_host),
                CollectiveSpecification({entry.kind, world, root}), options);
}

std::string catalogue_markdown(std::uint32_t world) {
  const auto yes = [](bool fact) { return fact ? "yes" : "no"; };
  std::string table = fmt::format(
      "| collective | algorithm | steps (n = {0}) | messages (n = {0}) | chunks sent (n = {0}) | "
      "chunks in/out | ranks | min slots | single producer | fixed order | in place | "
      "by reference |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      world);
  for (const CatalogueEntry& entry : kCatalogue) {
    const std::uint32_t per_host = entry.hosts && world % 2 == 0 ? world / 2 : 1;
    const auto report = verify(
        entry, world, 0, {.slots = entry.min_slots, .by_reference = entry.by_reference}, per_host);
    const Program program = entry.build(0, world, 0, per_host);
    const Report counted = report ? *report : Report{};
    const bool reduces = is_reduction(entry.kind);
    table += fmt::format(
        "| {} | {} | {} | {} | {} | {}/{} | to {} | {} | {} | {} | {} | {} |\n",
        name_of(entry.kind), entry.algorithm, counted.steps, counted.messages, counted.sends,
        program.input_chunks, program.output_chunks, entry.max_world, entry.min_slots,
        reduces ? yes(entry.single_producer) : "-", reduces ? yes(entry.fixed_order) : "-",
        yes(has_in_place(entry.kind)), yes(entry.by_reference));
  }
  return table;
}

}  // namespace gyre
