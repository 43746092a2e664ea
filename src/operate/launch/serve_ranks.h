// Serves the control plane of a run that a launcher starts.
#pragma once

#include <memory>

#include "base/ranks/control_server.h"
#include "operate/launch/launch.h"

namespace hone {

// Listens at `request.port`: at all addresses if `for_other_hosts`, else only at the loopback address. Logs missing
// ranks. Errors: those of ControlServer::open().
Result<std::unique_ptr<ControlServer>> serve_ranks(const LaunchRequest& request,
                                                   bool for_other_hosts);

}  // namespace hone
