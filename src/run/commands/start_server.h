// Starts the server of an endpoint in the background.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct ServerStart {
  bool take_over = false;
  double wait = 300;  // seconds until it is ready
};
// Starts a server for `endpoint`, which is in the registry and awaits it; the endpoint when the server is ready. H3022:
// it ended, or is not ready in time. If it ended, the endpoint is again what it was `before`, unless that is new.
Result<Endpoint> start_server(Registry& registry, const Endpoint& before, const Endpoint& endpoint,
                              const ServerStart& how);

}  // namespace hone
