#include "mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedule/cursor.hpp"

namespace gyre::test {
namespace {

using Change = std::function<void(Step&, const Program&)>;

std::uint16_t turn(std::uint16_t rank, int by, std::uint16_t world) {
  return static_cast<std::uint16_t>((rank + world + by) % world);
}
void turn(Chunk& chunk, int by, const Program& program) {
  const auto size = static_cast<int>(chunks_of(program, chunk.side));
  if (!chunk.exists() || size == 0) return;
  chunk.index = static_cast<std::uint16_t>((chunk.index + size + by) % size);
}
template <typename Enum>
void turn(Enum& value, int by, int values) {
  value = static_cast<Enum>((static_cast<int>(value) + values + by) % values);
}
std::int16_t plus(std::int16_t value, int by) { return static_cast<std::int16_t>(value + by); }
std::uint16_t plus(std::uint16_t value, int by) { return static_cast<std::uint16_t>(value + by); }

// Changes of what few schedules have: rounds, runs of chunks, sides, tokens. They leave others
// alone.
void add_changes_of_runs(int by, std::vector<std::pair<std::string, Change>>& changes) {
  const auto add = [&](const char* what, Change change) {
    changes.emplace_back(fmt::format("{} {:+}", what, by), std::move(change));
  };
  add("stride of ranks", [by](Step& s, const Program&) {
    for (Peers* peers : {&s.receive, &s.send}) {
      if (peers->count == 2 && peers->stride != 1) peers->stride = plus(peers->stride, by);
    }
  });
  add("receive.reach", [by](Step& s, const Program&) {
    if (s.receive.reach != Reach::fixed) turn(s.receive.reach, by, 4);
  });
  add("send.reach", [by](Step& s, const Program&) {
    if (s.send.reach != Reach::fixed) turn(s.send.reach, by, 4);
  });
  add("count of chunks", [by](Step& s, const Program&) {
    for (Chunk* chunk : {&s.source, &s.target}) {
      if (chunk->exists() && chunk->count > 1) chunk->count = plus(chunk->count, by);
    }
  });
  add("stride of chunks", [by](Step& s, const Program&) {
    for (Chunk* chunk : {&s.source, &s.target}) {
      if (chunk->exists() && chunk->count > 1) chunk->stride = plus(chunk->stride, by);
    }
  });
  add("source.run", [by](Step& s, const Program&) {
    if (s.source.run != Run::fixed) turn(s.source.run, by, 3);
  });
  add("target.run", [by](Step& s, const Program&) {
    if (s.target.run != Run::fixed) turn(s.target.run, by, 3);
  });
  add("source.side", [by](Step& s, const Program& p) {
    if (!s.source.exists()) return;
    turn(s.source.side, by, 3);
    turn(s.source, 0, p);
  });
  add("target.side", [by](Step& s, const Program& p) {
    if (!s.target.exists()) return;
    turn(s.target.side, by, 3);
    turn(s.target, 0, p);
  });
  add("token", [by](Step& s, const Program& p) {
    if (p.strand_count == 2) turn(s.token, by, 3);
  });
}

// Offers changed, withdrawn, and made where there were none.
void add_changes_of_offers(std::vector<std::pair<std::string, Change>>& changes) {
  for (const int by : {-1, 1}) {
    changes.emplace_back(fmt::format("offer.index {:+}", by), [by](Step& s, const Program& p) {
      const auto chunks = static_cast<std::uint16_t>(p.output_chunks);
      if (s.offer.exists()) s.offer.index = turn(s.offer.index, by, chunks);
    });
    changes.emplace_back(fmt::format("offer.advance {:+}", by), [by](Step& s, const Program&) {
      if (s.offer.exists()) s.offer.advance = plus(s.offer.advance, by);
    });
  }
  changes.emplace_back("offer nothing", [](Step& s, const Program&) { s.offer = {}; });
  changes.emplace_back("offer chunk 0", [](Step& s, const Program&) { s.offer = {0}; });
  changes.emplace_back("offer the chunk like the one sent", [](Step& s, const Program& p) {
    if (!s.source.exists()) return;
    s.offer = {static_cast<std::uint16_t>(s.source.index % p.output_chunks), s.source.advance};
  });
}

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
    changes.emplace_back(name("source.index"),
                         [by](Step& s, const Program& p) { turn(s.source, by, p); });
    changes.emplace_back(name("target.index"),
                         [by](Step& s, const Program& p) { turn(s.target, by, p); });
    changes.emplace_back(name("source.advance"), [by](Step& s, const Program&) {
      s.source.advance = plus(s.source.advance, by);
    });
    changes.emplace_back(name("target.advance"), [by](Step& s, const Program&) {
      s.target.advance = plus(s.target.advance, by);
    });
    add_changes_of_runs(by, changes);
  }
  add_changes_of_offers(changes);
  changes.emplace_back("receive nothing", [](Step& s, const Program&) { s.receive = {}; });
  changes.emplace_back("receive from everyone", [](Step& s, const Program& p) {
    s.receive = {0, p.world, 0};
  });
  changes.emplace_back("send nothing", [](Step& s, const Program&) { s.send = {}; });
  changes.emplace_back("send to everyone", [](Step& s, const Program& p) {
    s.send = {0, p.world, 0};
  });
  changes.emplace_back("read nothing", [](Step& s, const Program&) { s.source = {}; });
  changes.emplace_back("read chunk 0", [](Step& s, const Program&) { s.source = {0}; });
  changes.emplace_back("store nothing", [](Step& s, const Program&) { s.target = {}; });
  changes.emplace_back("store in chunk 0", [](Step& s, const Program&) {
    s.target = {.index = 0, .side = Side::output};
  });
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
      p.loops[l].lag = plus(p.loops[l].lag, by);
      return true;
    });
    add(fmt::format("first round {:+}", by), [l, by](ProgramDraft& p) {
      Rounds& rounds = p.loops[l].rounds;
      if (rounds.span == 0) return false;
      rounds.first = static_cast<std::uint8_t>(rounds.first + by);
      return true;
    });
    add(fmt::format("span {:+}", by), [l, by](ProgramDraft& p) {
      Rounds& rounds = p.loops[l].rounds;
      if (rounds.span == 0) return false;
      rounds.span = plus(rounds.span, by);
      return true;
    });
  }
  add("rounds the other way", [l](ProgramDraft& p) {
    Rounds& rounds = p.loops[l].rounds;
    rounds.advance = static_cast<std::int8_t>(-rounds.advance);
    return rounds.span != 0 && p.loops[l].trips > 1;
  });
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
    LoopDraft taken{loop.trips, loop.lag, loop.rounds, {}};
    for (std::uint32_t i = 0; i < loop.steps; ++i) {
      taken.steps.push_back(program.steps[loop.first_step + i]);
    }
    draft.loops.push_back(taken);
  }
  if (program.strand_count == 2) draft.second_strand = program.strands[1].first_loop;
  return draft;
}

Program put_together(const ProgramDraft& draft) {
  Program program;
  program.rank = draft.frame.rank;
  program.world = draft.frame.world;
  program.input_chunks = draft.frame.input_chunks;
  program.output_chunks = draft.frame.output_chunks;
  program.scratch_chunks = draft.frame.scratch_chunks;
  for (const LoopDraft& loop : draft.loops) {
    program.loops[program.loop_count++] = {program.step_count,
                                           static_cast<std::uint16_t>(loop.steps.size()),
                                           loop.trips, loop.lag, loop.rounds};
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
