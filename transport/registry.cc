#include "transport/registry.hpp"

#include "transport/direct/direct.hpp"
#include "transport/hook/hook.hpp"
#include "transport/shm/shm.hpp"
#include "transport/socket/socket.hpp"

namespace gyre {

std::vector<std::unique_ptr<Transport>> make_transports(const TransportContext& context) {
  std::vector<std::unique_ptr<Transport>> transports;
  transports.push_back(make_direct(context));
  transports.push_back(make_shm(context));
  transports.push_back(make_socket(context));
  if (const std::string& plan = context.settings->hook; !plan.empty()) {
    for (auto& transport : transports) transport = make_hook(std::move(transport), plan, context);
  }
  return transports;
}

}  // namespace gyre
