// The server of an endpoint of the registry, as another process sees it.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct ServerFacts {
  bool alive = false, ready = false;
  int64_t pid = 0;
};
// Asks the endpoint's address. A server of another endpoint there counts as none.
ServerFacts ask_server(const Endpoint& endpoint);
// Has it take a version; HONE_API_KEY is the key of a server that asks for one. H3021 with what it says.
Status ask_to_load(const Endpoint& endpoint, const DeployedModel& version);
// Whether the process is a server of this endpoint on this machine: the number alone may be another machine's.
bool is_own_server(const Endpoint& endpoint, int64_t pid);
// The log file of a server that is started.
std::string server_log(const Endpoint& endpoint);

}  // namespace hone
