#include "simulate/network.hpp"

#include <algorithm>

namespace gyre::sim {
namespace {

constexpr double kUnknown = -1;

}  // namespace

std::uint32_t Network::add_flow(std::span<const std::uint32_t> route, double most) {
  flows_.emplace_back();
  return rates_.add_flow(route, most);
}

void Network::carry(std::uint32_t flow, double amount, double at) {
  Flow& self = flows_[flow];
  self.amount = amount;
  self.finish = std::max(at, now_);  // of its wait
  if (at <= now_ && amount > 0) {
    start(flow);
  } else {
    events_.push(self.finish, flow);
  }
}

void Network::start(std::uint32_t flow) {
  Flow& self = flows_[flow];
  self.runs = true;
  self.finish = kUnknown;
  self.left = self.amount;
  self.rate = 0;
  self.since = now_;
  rates_.start(flow);
}

void Network::finish(std::uint32_t flow) {
  Flow& self = flows_[flow];
  self.runs = false;
  self.finish = kUnknown;
  rates_.stop(flow);
  for (const std::uint32_t link : rates_.route(flow)) carried_[link] += self.amount;
  done_.push_back(flow);
}

void Network::settle() {
  for (const std::uint32_t flow : rates_.settle()) {
    Flow& self = flows_[flow];
    self.left = std::max(0.0, self.left - self.rate * (now_ - self.since));
    self.since = now_;
    self.rate = rates_.rate(flow);
    self.finish = now_ + self.left / self.rate;
    events_.push(self.finish, flow);
  }
}

bool Network::advance() {
  done_.clear();
  settle();
  if (events_.empty()) return false;
  now_ = events_.time();
  for (const std::uint32_t flow : events_.pop()) {
    Flow& self = flows_[flow];
    // Its rate changed since, or this is the second event of this time.
    if (self.finish != now_) continue;
    if (self.runs) {
      finish(flow);
    } else if (self.amount > 0) {
      start(flow);
    } else {
      self.finish = kUnknown;
      done_.push_back(flow);  // it had nothing to carry
    }
  }
  return true;
}

}  // namespace gyre::sim
