// Max-min fair rates of flows over links: every flow has either its own greatest rate, or a link
// that is full and on which no other flow is faster. There is exactly one such allocation.
//
// Flows come and go; settle() then finds the rates anew, but only where they can have changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gyre::sim {

class MaxMin {
 public:
  explicit MaxMin(std::span<const double> capacities);

  // A flow that does not run yet. `most` may be infinite if its route is not empty.
  std::uint32_t add_flow(std::span<const std::uint32_t> route, double most);
  void start(std::uint32_t flow);
  void stop(std::uint32_t flow);

  // Brings the rates up to date. The flows whose rate is another than before, valid until the next
  // call; those that were stopped are not among them.
  std::span<const std::uint32_t> settle();

  double rate(std::uint32_t flow) const { return flows_[flow].rate; }
  double load(std::uint32_t link) const { return links_[link].load; }
  double peak(std::uint32_t link) const { return links_[link].peak; }  // the largest load so far
  std::span<const std::uint32_t> route(std::uint32_t flow) const {
    return {hops_.data() + flows_[flow].first_hop, flows_[flow].hops};
  }

 private:
  struct Flow {
    std::uint32_t first_hop = 0, hops = 0;
    double most = 0;
    double rate = 0;
    std::uint64_t region = 0;  // the last region that it was part of
    bool fixed = false;
  };
  // A flow on a link: which of its hops that is.
  struct Member {
    std::uint32_t flow, hop;
  };
  struct Link {
    double capacity = 0;
    double load = 0;
    double peak = 0;
    std::vector<Member> members;
    std::uint64_t region = 0, border = 0;
    double left = 0;  // while rates are found: capacity for flows without one
    std::uint32_t waiting = 0;
  };
  // A link and the equal share it could give to each waiting flow when that was worked out.
  struct Share {
    double share;
    std::uint32_t link;
  };

  static bool full(const Link& link);
  void include_flow(std::uint32_t flow);
  void include_link(std::uint32_t link);
  void grow();
  void fill();
  void fix(std::uint32_t flow, double rate);
  const Share* least_share();
  bool update_loads();
  void collect_changes();

  std::vector<Flow> flows_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> hops_;       // links, flow by flow
  std::vector<std::uint32_t> positions_;  // of the flow among the members of that link
  std::uint64_t epoch_ = 1;               // names the region that is being collected

  // The region: flows whose rates are found anew, and the links that bind them. Links that such
  // flows only cross are its border.
  std::vector<std::uint32_t> region_flows_, region_links_, border_;
  std::size_t grown_flows_ = 0, grown_links_ = 0;
  std::vector<double> old_rates_;  // of region_flows_
  std::vector<std::uint32_t> by_most_;
  std::vector<Share> shares_;  // a heap
  std::vector<std::uint32_t> changed_;
};

}  // namespace gyre::sim
