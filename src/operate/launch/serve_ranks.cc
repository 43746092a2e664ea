#include "operate/launch/serve_ranks.h"

#include "base/core/log.h"

namespace hone {

Result<std::unique_ptr<ControlServer>> serve_ranks(const LaunchRequest& request,
                                                   bool for_other_hosts) {
  return ControlServer::open(
      {.state = {.ranks = request.ranks, .epoch = request.epoch, .token = request.token},
       .loopback = !for_other_hosts,
       .port = request.port,
       .say = [](const std::string& line) { log_info("{}", line); }});
}

}  // namespace hone
