// Starts the server of an endpoint in the background.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct ServerStart {
  bool take_over = false;  // the new server replaces a running one
  double wait = 300;       // the longest time in seconds until the server is ready
};
// Starts a server (hone serve) for `endpoint`, which is in the registry and expects a server
// (EndpointServer::awaited). Waits until the server is ready, and returns the endpoint. Error H3022 if the server ends,
// or is not ready in time. If it ends, the registry's endpoint is restored to `before`; an endpoint without an id is
// new and is not restored.
Result<Endpoint> start_server(Registry& registry, const Endpoint& before, const Endpoint& endpoint,
                              const ServerStart& how);

}  // namespace hone
