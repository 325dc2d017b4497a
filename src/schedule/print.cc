#include "schedule/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace gyre {
namespace {

// "3", "3+k", "3-k", "3+2k".
std::string moving(std::int64_t first, std::int64_t advance) {
  if (advance == 0) return fmt::format("{}", first);
  const std::int64_t by = std::abs(advance);
  return fmt::format("{}{}{}k", first, advance < 0 ? '-' : '+',
                     by == 1 ? std::string() : fmt::format("{}", by));
}

std::string text_of(const Peers& peers, std::uint32_t world) {
  if (peers.count == world && peers.first == 0 && peers.advance == 0) return "everyone";
  std::string first = moving(peers.first, peers.advance);
  if (peers.reach != Reach::fixed) {
    constexpr std::string_view kSigns[] = {"", "+", "-", "^"};
    return fmt::format("{}{}d", first, kSigns[static_cast<int>(peers.reach)]);
  }
  if (peers.count == 1) return first;
  if (peers.stride != 1) {
    return fmt::format("the {} from {} on, {} apart", peers.count, first, peers.stride);
  }
  return fmt::format("the {} from {} on", peers.count, first);
}

std::string text_of(const Chunk& chunk) {
  constexpr std::string_view kSides[] = {"in", "out", "scratch"};
  std::string text = moving(chunk.index, chunk.advance);
  if (chunk.run == Run::near) text += ", m chunks";
  if (chunk.run == Run::far) text += "+d, m chunks";
  if (chunk.count != 1) text += fmt::format(", {} chunks", chunk.count);
  if (chunk.count != 1 && chunk.stride != 1) text += fmt::format(" {} apart", chunk.stride);
  return fmt::format("{}[{}]", kSides[static_cast<int>(chunk.side)], text);
}

std::string text_of(const Step& step, std::uint32_t world) {
  const bool receives = step.receive.count != 0, reads = step.source.exists();
  const bool sends = step.send.count != 0, stores = step.target.exists();
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (step.token == Token::take) add("wait for the other strand");
  if (receives) add("receive from " + text_of(step.receive, world));
  if (receives && reads) add("reduce with " + text_of(step.source));
  if (step.finish) add("finish");
  const std::string what = reads && !receives ? " " + text_of(step.source) : std::string();
  if (stores) add((what.empty() ? "store" : "copy" + what) + " in " + text_of(step.target));
  if (sends) add("send" + (stores ? std::string() : what) + " to " + text_of(step.send, world));
  if (step.offer.exists()) {
    text += fmt::format(", offering out[{}]", moving(step.offer.index, step.offer.advance));
  }
  if (step.token == Token::give) add("tell the other strand");
  return text.empty() ? "nothing" : text;
}

std::string text_of(const Rounds& rounds) {
  if (rounds.span == 0) return "";
  return fmt::format("rounds of {} {} from {} on: ", rounds.span,
                     rounds.advance < 0 ? "doubling" : "halving", rounds.first);
}

std::string text_of(const Program& program, const Loop& loop) {
  std::string body;
  const std::uint32_t last =
      std::min<std::uint32_t>(kMaxSteps, std::uint32_t{loop.first_step} + loop.steps);
  for (std::uint32_t i = loop.first_step; i < last; ++i) {
    if (!body.empty()) body += "; ";
    body += text_of(program.steps[i], program.world);
  }
  const std::string lag =
      loop.lag == 0 ? "" : fmt::format("{} tile{} back: ", loop.lag, loop.lag == 1 ? "" : "s");
  return fmt::format("{:4} x  {}{}{}\n", loop.trips, lag, text_of(loop.rounds), body);
}

}  // namespace

std::string print(const Program& program) {
  std::string text =
      fmt::format("rank {} of {}: {} chunk{} in, {} chunk{} out", program.rank, program.world,
                  program.input_chunks, program.input_chunks == 1 ? "" : "s", program.output_chunks,
                  program.output_chunks == 1 ? "" : "s");
  if (program.scratch_chunks != 0) text += fmt::format(", {} of scratch", program.scratch_chunks);
  text += "\n";
  for (std::uint32_t s = 0; s < std::min<std::uint32_t>(program.strand_count, kMaxStrands); ++s) {
    if (program.strand_count > 1) text += fmt::format("  strand {}\n", s);
    const Strand& strand = program.strands[s];
    const std::uint32_t last =
        std::min<std::uint32_t>(kMaxLoops, std::uint32_t{strand.first_loop} + strand.loops);
    for (std::uint32_t l = strand.first_loop; l < last; ++l) {
      text += text_of(program, program.loops[l]);
    }
  }
  return text;
}

}  // namespace gyre
