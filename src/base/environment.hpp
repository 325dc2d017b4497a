// The process environment, completed by NCCL's configuration files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gyre {

// The KEY=VALUE lines of a configuration file; '#' in the first column starts a comment, and lines
// without '=' are passed over. Of a key given twice, the first counts.
std::vector<std::pair<std::string, std::string>> parse_configuration(std::string_view text);

// Every variable of the environment, then those of $NCCL_CONF_FILE or else ~/.nccl.conf, then
// those of /etc/nccl.conf, in this order; a reader takes the first of a name.
std::vector<std::pair<std::string, std::string>> read_environment();

// The value of one name by the same rules.
std::optional<std::string> environment_value(std::string_view name);

}  // namespace gyre
