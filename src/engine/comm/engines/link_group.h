// A group whose messages a module carries.
#pragma once

#include <string>

#include "engine/comm/engines/engines.h"
#include "engine/comm/engines/link_module.h"

namespace hone {

// A module of this build. `what` and `package` are for the error H1501: "gloo", "libgloo-dev".
struct LinkModule {
  std::string what, file, symbol, package;
};
Result<StartLink> load_link(const LinkModule& module);

// Connects this rank through the module, from `address` of this host. Errors: H1501, H1505.
Result<std::unique_ptr<Group>> make_link_group(const LinkModule& module, const std::string& address,
                                               const World& world, KeyValues& keys,
                                               const CommOptions& options);

}  // namespace hone
