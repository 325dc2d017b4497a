#include "collectives/catalogue.hpp"

#include <fmt/format.h>

#include "collectives/direct.hpp"
#include "collectives/pairwise.hpp"
#include "collectives/ring.hpp"

namespace gyre {
namespace {

// The signature of the table for builders without a root.
template <Program (*Build)(std::uint32_t, std::uint32_t)>
Program rootless(std::uint32_t rank, std::uint32_t world, std::uint32_t) {
  return Build(rank, world);
}

constexpr CatalogueEntry kCatalogue[] = {
    {.algorithm = "ring",
     .kind = CollectiveKind::all_reduce,
     .build = rootless<ring::all_reduce>,
     .min_slots = 2,
     .fixed_order = false},
    {.algorithm = "ring",
     .kind = CollectiveKind::reduce_scatter,
     .build = rootless<ring::reduce_scatter>,
     .min_slots = 2,
     .fixed_order = false},
    {.algorithm = "ring",
     .kind = CollectiveKind::all_gather,
     .build = rootless<ring::all_gather>,
     .min_slots = 2},
    {.algorithm = "ring", .kind = CollectiveKind::broadcast, .build = ring::broadcast},
    {.algorithm = "ring",
     .kind = CollectiveKind::reduce,
     .build = ring::reduce,
     .fixed_order = false},
    {.algorithm = "one_shot",
     .kind = CollectiveKind::all_reduce,
     .build = rootless<direct::one_shot_all_reduce>,
     .single_producer = false,
     .reference_in_place = false},
    {.algorithm = "two_shot",
     .kind = CollectiveKind::all_reduce,
     .build = rootless<direct::two_shot_all_reduce>,
     .min_slots = 4},
    {.algorithm = "direct",
     .kind = CollectiveKind::reduce_scatter,
     .build = rootless<direct::reduce_scatter>,
     .min_slots = 2},
    {.algorithm = "direct",
     .kind = CollectiveKind::all_gather,
     .build = rootless<direct::all_gather>},
    {.algorithm = "direct", .kind = CollectiveKind::broadcast, .build = direct::broadcast},
    {.algorithm = "direct", .kind = CollectiveKind::reduce, .build = direct::reduce},
    {.algorithm = "pairwise",
     .kind = CollectiveKind::all_to_all,
     .build = rootless<pairwise::all_to_all>},
    {.algorithm = "pairwise", .kind = CollectiveKind::gather, .build = pairwise::gather},
    {.algorithm = "pairwise", .kind = CollectiveKind::scatter, .build = pairwise::scatter},
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
                                 std::uint32_t root) {
  std::vector<Program> programs;
  programs.reserve(world);
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    programs.push_back(entry.build(rank, world, root));
  }
  return programs;
}

Result<Report> verify(const CatalogueEntry& entry, std::uint32_t world, std::uint32_t root,
                      const VerifyOptions& options) {
  const auto refuse = [&](std::string_view why) {
    return Error{Status::invalid_argument, fmt::format("{} {} with {} ranks: {}", entry.algorithm,
                                                       name_of(entry.kind), world, why)};
  };
  if (world < entry.min_world || world > entry.max_world) return refuse("not for this world");
  if (options.in_place && !has_in_place(entry.kind)) return refuse("it has no in-place form");
  if (options.in_place && options.by_reference && !entry.reference_in_place) {
    return refuse("in place it must not send by reference");
  }
  return verify(programs_of(entry, world, root), CollectiveSpecification({entry.kind, world, root}),
                options);
}

std::string catalogue_markdown(std::uint32_t world) {
  const auto yes = [](bool fact) { return fact ? "yes" : "no"; };
  std::string table = fmt::format(
      "| collective | algorithm | steps (n = {0}) | sends (n = {0}) | chunks in/out | min slots | "
      "single producer | fixed order | in place | by reference in place |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      world);
  for (const CatalogueEntry& entry : kCatalogue) {
    const auto report = verify(entry, world, 0, {.slots = entry.min_slots});
    const Program program = entry.build(0, world, 0);
    const bool in_place = has_in_place(entry.kind), reduces = is_reduction(entry.kind);
    table += fmt::format("| {} | {} | {} | {} | {}/{} | {} | {} | {} | {} | {} |\n",
                         name_of(entry.kind), entry.algorithm, report ? report->steps : 0,
                         report ? report->sends : 0, program.input_chunks, program.output_chunks,
                         entry.min_slots, reduces ? yes(entry.single_producer) : "-",
                         reduces ? yes(entry.fixed_order) : "-", yes(in_place),
                         in_place ? yes(entry.reference_in_place) : "-");
  }
  return table;
}

}  // namespace gyre
