#include "collectives/hierarchical.hpp"

#include "collectives/binary_tree.hpp"
#include "collectives/pairwise.hpp"
#include "collectives/ring.hpp"
#include "collectives/tree.hpp"
#include "schedule/builder.hpp"

namespace gyre::hierarchical {
namespace {

// Where a rank is. A share of the chunks is those of the ranks at one place of every host.
struct Seat {
  std::int64_t ranks, hosts;  // of a host; of the world
  std::int64_t host, place;
  std::int64_t first;  // rank of this host
  std::int64_t share_chunks = hosts;

  Seat(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host)
      : ranks(ranks_per_host),
        hosts(world / ranks_per_host),
        host(rank / ranks_per_host),
        place(rank % ranks_per_host),
        first(host * ranks) {}

  From from_host() const { return {first, 0, static_cast<std::uint32_t>(ranks)}; }
  To to_host() const { return {first, 0, static_cast<std::uint32_t>(ranks)}; }

  // Chunk `place` of every host, as seen on a side that has one per rank; or that of all hosts,
  // where there is one per place.
  template <typename Side>
  Side share(std::int64_t of_place, std::int16_t advance = 0) const {
    return {of_place, advance, static_cast<std::uint32_t>(share_chunks),
            static_cast<std::uint32_t>(ranks)};
  }
  // All chunks of a host.
  template <typename Side>
  Side host_of(std::int64_t first_rank, std::int16_t advance = 0) const {
    return {first_rank, advance, static_cast<std::uint32_t>(ranks)};
  }
  std::int16_t host_step(int hosts_on) const { return static_cast<std::int16_t>(hosts_on * ranks); }
};

// A loop over the other ranks of the host, from the next one to the last and from the first on. The
// step is made for the first of its ranks.
template <typename MakeStep>
void for_others(Builder& builder, const Seat& at, const MakeStep& step, std::uint16_t lag = 0) {
  builder.lagged_loop(at.ranks - 1 - at.place, lag, step(at.place + 1))
      .lagged_loop(at.place, lag, step(0));
}

// Sends every other rank of the host its share.
void send_shares(Builder& builder, const Seat& at) {
  for_others(builder, at, [&](std::int64_t place) {
    return send(at.share<In>(place, 1), To{at.first + place, 1});
  });
}

// The same, and folds the own one.
Draft fold_share(Builder& builder, const Seat& at, Target into) {
  send_shares(builder, at);
  return recv_reduce_store(at.from_host(), at.share<In>(at.place), into);
}

// Gives every other rank of the host the own share of the output, and takes theirs.
void exchange_shares(Builder& builder, const Seat& at, std::uint16_t lag = 0) {
  builder.lagged_loop(1, lag, send(at.share<Out>(at.place), at.to_host()));
  for_others(
      builder, at,
      [&](std::int64_t place) {
        return recv_store(From{at.first + place, 1}, at.share<Out>(place, 1));
      },
      lag);
}

Tree tree_of_hosts(const Seat& at) {
  return {.size = at.hosts, .world = static_cast<std::uint32_t>(at.hosts)};
}

// A rank's lanes in the tree over the ranks at its place of every host.
Node node_across_hosts(const Seat& at) {
  Node node = node_of(tree_of_hosts(at), at.host);
  const auto rank_of = [&](std::int64_t host) { return host * at.ranks + at.place; };
  node.parent = rank_of(node.parent);
  node.children.first = rank_of(node.children.first);
  node.children.stride *= at.ranks;
  return node;
}

}  // namespace

Program all_reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1) return ring::all_reduce(rank, world);
  const Seat at(rank, world, ranks_per_host);
  const std::int64_t r = rank, k = at.ranks;
  const From previous{r - k};
  const To next{r + k};
  const std::int16_t back = at.host_step(-1);
  Builder builder(rank, world, world, world);
  const Draft fold = fold_share(builder, at, at.share<Out>(at.place));
  builder.loop(1, at.hosts == 1 ? fold.finish() : fold);
  if (at.hosts > 1) {
    builder.loop(1, send(Out{r - k}, next))
        .loop(at.hosts - 2, recv_reduce_send(previous, Out{r - 2 * k, back}, next))
        .loop(1, recv_reduce_store_send(previous, Out{r}, Out{r}, next).finish())
        .loop(at.hosts - 2, recv_store_send(previous, Out{r - k, back}, next))
        .loop(1, recv_store(previous, Out{r + k}));
  }
  exchange_shares(builder, at);
  return builder.program();
}

// Both ways on one strand, as shares and results go through the same lanes within a host. So that
// tiles go up while others come down, a host waits for the result of an earlier tile, by kLag tiles
// for each hop to the root: it can be so many tiles ahead of its parent.
Program tree_all_reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1) return tree::all_reduce(rank, world);
  constexpr std::uint32_t kLag = 3;
  Seat at(rank, world, ranks_per_host);
  at.share_chunks = 1;
  const Node node = node_across_hosts(at);
  const auto lag = static_cast<std::uint16_t>(kLag * depth_of(tree_of_hosts(at), at.host));
  const In own{at.place};
  const Out sum{at.place};
  const From parent{node.parent}, children = node.children;
  const Draft fold = recv_reduce_store(at.from_host(), own, sum);
  Builder builder(rank, world, ranks_per_host, ranks_per_host);
  send_shares(builder, at);
  if (at.hosts == 1) {
    builder.loop(1, fold.finish());
  } else if (node.is_root) {
    builder.loop(1, fold, recv_reduce_store_send(children, sum, sum, node.to_children()).finish());
  } else if (node.is_leaf()) {
    builder.loop(1, recv_reduce_send(at.from_host(), own, To{node.parent}))
        .lagged_loop(1, lag, recv_store(parent, sum));
  } else {
    builder.loop(1, fold, recv_reduce_send(children, sum, To{node.parent}))
        .lagged_loop(1, lag, recv_store_send(parent, sum, node.to_children()));
  }
  exchange_shares(builder, at, lag);
  return builder.program();
}

Program reduce_scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1) return ring::reduce_scatter(rank, world);
  const Seat at(rank, world, ranks_per_host);
  const From previous{std::int64_t{rank} - at.ranks};
  const To next{std::int64_t{rank} + at.ranks};
  const auto hosts = static_cast<std::uint32_t>(at.hosts);
  Builder builder(rank, world, world, 1);
  if (hosts == 1) {
    return builder.loop(1, fold_share(builder, at, Out{0}).finish()).program();
  }
  builder.scratch(hosts);
  return builder.loop(1, fold_share(builder, at, Scratch{0, 0, hosts}))
      .loop(1, send(Scratch{at.host - 1}, next))
      .loop(at.hosts - 2, recv_reduce_send(previous, Scratch{at.host - 2, -1}, next))
      .loop(1, recv_reduce_store(previous, Scratch{at.host}, Out{0}).finish())
      .program();
}

Program all_gather(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1) return ring::all_gather(rank, world);
  const Seat at(rank, world, ranks_per_host);
  const std::int64_t r = rank, k = at.ranks;
  const From previous{r - k};
  const To next{r + k};
  Builder builder(rank, world, 1, world);
  if (at.hosts == 1) {
    builder.loop(1, copy(In{0}, Out{r}));
  } else {
    builder.loop(1, copy_send(In{0}, Out{r}, next))
        .loop(at.hosts - 2, recv_store_send(previous, Out{r - k, at.host_step(-1)}, next))
        .loop(1, recv_store(previous, Out{r + k}));
  }
  exchange_shares(builder, at);
  return builder.program();
}

// First to the rank of this host at the receiver's place, then to the receiver's host.
Program all_to_all(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1 || ranks_per_host == world) return pairwise::all_to_all(rank, world);
  const Seat at(rank, world, ranks_per_host);
  const std::int64_t r = rank, k = at.ranks;
  const std::int16_t on = at.host_step(1), back = at.host_step(-1);
  Builder builder(rank, world, world, world);
  builder.scratch(world);
  for_others(builder, at, [&](std::int64_t place) {
    return send(at.share<In>(place, 1), To{at.first + place, 1});
  });
  builder.loop(1, copy(at.share<In>(at.place), at.share<Scratch>(at.place)));
  for_others(builder, at, [&](std::int64_t place) {
    return recv_store(From{at.first + place, 1}, at.share<Scratch>(place, 1));
  });
  return builder
      .loop(at.hosts - 1, send(at.host_of<Scratch>(at.first + k, on), To{r + k, on}),
            recv_store(From{r - k, back}, at.host_of<Out>(at.first - k, back)))
      .loop(1, copy(at.host_of<Scratch>(at.first), at.host_of<Out>(at.first)))
      .program();
}

Program gather(std::uint32_t rank, std::uint32_t world, std::uint32_t root,
               std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1) return pairwise::gather(rank, world, root);
  const Seat at(rank, world, ranks_per_host);
  const std::int64_t leader = at.first + root % ranks_per_host;
  Builder builder(rank, world, 1, world);
  if (rank != leader) return builder.loop(1, send(In{0}, To{leader})).program();
  if (rank != root) {
    builder.scratch(ranks_per_host).loop(1, copy(In{0}, Scratch{at.place}));
    for_others(builder, at, [&](std::int64_t place) {
      return recv_store(From{at.first + place, 1}, Scratch{place, 1});
    });
    return builder.loop(1, send(at.host_of<Scratch>(0), To{root})).program();
  }
  builder.loop(1, copy(In{0}, Out{root}));
  for_others(builder, at, [&](std::int64_t place) {
    return recv_store(From{at.first + place, 1}, Out{at.first + place, 1});
  });
  return builder
      .loop(at.hosts - 1, recv_store(From{root + at.ranks, at.host_step(1)},
                                     at.host_of<Out>(at.first + at.ranks, at.host_step(1))))
      .program();
}

Program scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t root,
                std::uint32_t ranks_per_host) {
  if (ranks_per_host == 1) return pairwise::scatter(rank, world, root);
  const Seat at(rank, world, ranks_per_host);
  const std::int64_t leader = at.first + root % ranks_per_host;
  Builder builder(rank, world, world, 1);
  if (rank != leader) return builder.loop(1, recv_store(From{leader}, Out{0})).program();
  if (rank != root) {
    builder.scratch(ranks_per_host).loop(1, recv_store(From{root}, at.host_of<Scratch>(0)));
    for_others(builder, at, [&](std::int64_t place) {
      return send(Scratch{place, 1}, To{at.first + place, 1});
    });
    return builder.loop(1, copy(Scratch{at.place}, Out{0})).program();
  }
  builder.loop(at.hosts - 1, send(at.host_of<In>(at.first + at.ranks, at.host_step(1)),
                                  To{root + at.ranks, at.host_step(1)}));
  for_others(builder, at, [&](std::int64_t place) {
    return send(In{at.first + place, 1}, To{at.first + place, 1});
  });
  return builder.loop(1, copy(In{root}, Out{0})).program();
}

}  // namespace gyre::hierarchical
