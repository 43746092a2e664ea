// Starts the server of an endpoint in the background.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct ServerStart {
  bool take_over = false;  // the new server replaces a running one
  double wait = 300;       // the longest time in seconds until the server is ready
};
// Starts a server (hone serve) for `endpoint`, which is in the registry with EndpointServer::awaited set. Waits until
// the server is ready, and returns the endpoint. Error H3022 if the server ends, or is not ready in time. If the server
// ends, the endpoint in the registry is set back to `before`, unless before.id is "" (the endpoint is new).
Result<Endpoint> start_server(Registry& registry, const Endpoint& before, const Endpoint& endpoint,
                              const ServerStart& how);

}  // namespace hone
