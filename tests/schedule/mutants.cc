#include "mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gyre::test {
namespace {

using Change = std::function<void(Step&, const Program&)>;

std::uint16_t turn(std::uint16_t rank, int by, std::uint16_t world) {
  return static_cast<std::uint16_t>((rank + world + by) % world);
}
std::int32_t turn(std::int32_t chunk, int by, std::uint32_t chunks) {
  const auto size = static_cast<std::int32_t>(chunks);
  return chunk == kNoChunk ? chunk : (chunk + size + by) % size;
}
std::int16_t plus(std::int16_t value, int by) { return static_cast<std::int16_t>(value + by); }
std::uint16_t plus(std::uint16_t value, int by) { return static_cast<std::uint16_t>(value + by); }

// Every change of one step's fields, by name.
std::vector<std::pair<std::string, Change>> step_changes() {
  std::vector<std::pair<std::string, Change>> changes;
  for (const int by : {-1, 1}) {
    const auto name = [&](const char* what) { return fmt::format("{} {:+}", what, by); };
    changes.emplace_back(name("receive.first"), [by](Step& s, const Program& p) {
      s.receive.first = turn(s.receive.first, by, p.world);
    });
    changes.emplace_back(name("send.first"), [by](Step& s, const Program& p) {
      s.send.first = turn(s.send.first, by, p.world);
    });
    changes.emplace_back(name("receive.count"), [by](Step& s, const Program&) {
      if (s.receive.count + by >= 0) s.receive.count = plus(s.receive.count, by);
    });
    changes.emplace_back(name("send.count"), [by](Step& s, const Program&) {
      if (s.send.count + by >= 0) s.send.count = plus(s.send.count, by);
    });
    changes.emplace_back(name("receive.advance"), [by](Step& s, const Program&) {
      s.receive.advance = plus(s.receive.advance, by);
    });
    changes.emplace_back(name("send.advance"), [by](Step& s, const Program&) {
      s.send.advance = plus(s.send.advance, by);
    });
    changes.emplace_back(name("source.index"), [by](Step& s, const Program& p) {
      s.source.index = turn(s.source.index, by, p.input_chunks);
    });
    changes.emplace_back(name("target.index"), [by](Step& s, const Program& p) {
      s.target.index = turn(s.target.index, by, p.output_chunks);
    });
    changes.emplace_back(name("source.advance"), [by](Step& s, const Program&) {
      s.source.advance = plus(s.source.advance, by);
    });
    changes.emplace_back(name("target.advance"), [by](Step& s, const Program&) {
      s.target.advance = plus(s.target.advance, by);
    });
  }
  changes.emplace_back("receive nothing", [](Step& s, const Program&) { s.receive = {}; });
  changes.emplace_back("receive from everyone", [](Step& s, const Program& p) {
    s.receive = {0, p.world, 0};
  });
  changes.emplace_back("send nothing", [](Step& s, const Program&) { s.send = {}; });
  changes.emplace_back("send to everyone", [](Step& s, const Program& p) {
    s.send = {0, p.world, 0};
  });
  changes.emplace_back("read nothing", [](Step& s, const Program&) { s.source = {}; });
  changes.emplace_back("read chunk 0", [](Step& s, const Program&) { s.source = {0, 0}; });
  changes.emplace_back("store nothing", [](Step& s, const Program&) { s.target = {}; });
  changes.emplace_back("store in chunk 0", [](Step& s, const Program&) { s.target = {0, 0}; });
  changes.emplace_back("toggle finish", [](Step& s, const Program&) { s.finish = !s.finish; });
  changes.emplace_back("exchange receive and send",
                       [](Step& s, const Program&) { std::swap(s.receive, s.send); });
  changes.emplace_back("exchange source and target",
                       [](Step& s, const Program&) { std::swap(s.source, s.target); });
  return changes;
}

void add_step_mutations(std::size_t l, std::size_t i, std::vector<Mutation>& all) {
  const auto at = [l, i](ProgramDraft& p) {
    return l < p.loops.size() && i < p.loops[l].steps.size();
  };
  const std::string where = fmt::format("loop {} step {}: ", l, i);
  const auto offset = static_cast<std::ptrdiff_t>(i);
  for (const auto& [name, change] : step_changes()) {
    all.push_back({where + name, [at, l, i, change = change](ProgramDraft& p) {
                     if (!at(p)) return false;
                     change(p.loops[l].steps[i], p.frame);
                     return true;
                   }});
  }
  all.push_back({where + "drop", [at, l, offset](ProgramDraft& p) {
                   if (!at(p)) return false;
                   auto& steps = p.loops[l].steps;
                   steps.erase(steps.begin() + offset);
                   if (steps.empty()) p.loops.erase(p.loops.begin() + static_cast<long>(l));
                   return true;
                 }});
  all.push_back({where + "duplicate", [at, l, i, offset](ProgramDraft& p) {
                   if (!at(p)) return false;
                   auto& steps = p.loops[l].steps;
                   const Step copy = steps[i];
                   steps.insert(steps.begin() + offset, copy);
                   return true;
                 }});
  all.push_back({where + "swap with the next", [l, i](ProgramDraft& p) {
                   if (l >= p.loops.size() || i + 1 >= p.loops[l].steps.size()) return false;
                   std::swap(p.loops[l].steps[i], p.loops[l].steps[i + 1]);
                   return true;
                 }});
}

void add_loop_mutations(std::size_t l, std::vector<Mutation>& all) {
  const auto add = [&](const std::string& name, std::function<bool(ProgramDraft&)> change) {
    all.push_back(
        {fmt::format("loop {}: {}", l, name), [l, change = std::move(change)](ProgramDraft& p) {
           return l < p.loops.size() && change(p);
         }});
  };
  const auto offset = static_cast<std::ptrdiff_t>(l);
  for (const int by : {-1, 1, 2}) {
    add(fmt::format("trips {:+}", by), [l, by](ProgramDraft& p) {
      p.loops[l].trips += static_cast<std::uint32_t>(by);
      if (p.loops[l].trips == 0) p.loops.erase(p.loops.begin() + static_cast<long>(l));
      return true;
    });
    add(fmt::format("lag {:+}", by), [l, by](ProgramDraft& p) {
      if (by < 0 && p.loops[l].lag == 0) return false;
      p.loops[l].lag += static_cast<std::uint32_t>(by);
      return true;
    });
  }
  add("drop", [offset](ProgramDraft& p) {
    p.loops.erase(p.loops.begin() + offset);
    return true;
  });
  add("duplicate", [l, offset](ProgramDraft& p) {
    const LoopDraft copy = p.loops[l];
    p.loops.insert(p.loops.begin() + offset, copy);
    return true;
  });
  add("to a second strand, with all that follow", [l](ProgramDraft& p) {
    p.second_strand = l;
    return l != 0;
  });
  add("to the end", [offset](ProgramDraft& p) {
    std::rotate(p.loops.begin() + offset, p.loops.begin() + offset + 1, p.loops.end());
    return true;
  });
  add("reverse its steps", [l](ProgramDraft& p) {
    std::reverse(p.loops[l].steps.begin(), p.loops[l].steps.end());
    return p.loops[l].steps.size() > 1;
  });
  add("swap with the next", [l](ProgramDraft& p) {
    if (l + 1 >= p.loops.size()) return false;
    std::swap(p.loops[l], p.loops[l + 1]);
    return true;
  });
  add("join with the next", [l](ProgramDraft& p) {
    if (l + 1 >= p.loops.size()) return false;
    auto& next = p.loops[l + 1].steps;
    p.loops[l].steps.insert(p.loops[l].steps.end(), next.begin(), next.end());
    p.loops.erase(p.loops.begin() + static_cast<long>(l) + 1);
    return true;
  });
  add("split off the first trip", [l, offset](ProgramDraft& p) {
    if (p.loops[l].trips < 2) return false;
    LoopDraft first = p.loops[l];
    first.trips = 1;
    --p.loops[l].trips;
    p.loops.insert(p.loops.begin() + offset, first);
    return true;
  });
}

}  // namespace

ProgramDraft take_apart(const Program& program) {
  ProgramDraft draft;
  draft.frame = program;
  for (std::uint32_t l = 0; l < program.loop_count; ++l) {
    const Loop& loop = program.loops[l];
    LoopDraft taken{loop.trips, loop.lag, {}};
    for (std::uint32_t i = 0; i < loop.steps; ++i) {
      taken.steps.push_back(program.steps[loop.first_step + i]);
    }
    draft.loops.push_back(taken);
  }
  return draft;
}

Program put_together(const ProgramDraft& draft) {
  Program program;
  program.rank = draft.frame.rank;
  program.world = draft.frame.world;
  program.input_chunks = draft.frame.input_chunks;
  program.output_chunks = draft.frame.output_chunks;
  for (const LoopDraft& loop : draft.loops) {
    program.loops[program.loop_count++] = {
        program.step_count, static_cast<std::uint16_t>(loop.steps.size()), loop.trips, loop.lag};
    for (const Step& step : loop.steps) program.steps[program.step_count++] = step;
  }
  const auto split = static_cast<std::uint16_t>(draft.second_strand);
  program.strands[program.strand_count++] = {0, split == 0 ? program.loop_count : split};
  if (split != 0) {
    program.strands[program.strand_count++] = {
        split, static_cast<std::uint16_t>(program.loop_count - split)};
  }
  return program;
}

std::vector<Mutation> mutations(std::size_t loops, std::size_t steps) {
  std::vector<Mutation> all;
  for (std::size_t l = 0; l < loops; ++l) {
    add_loop_mutations(l, all);
    for (std::size_t i = 0; i < steps; ++i) add_step_mutations(l, i, all);
  }
  return all;
}

}  // namespace gyre::test
