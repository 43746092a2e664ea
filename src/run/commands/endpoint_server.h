// The server of an endpoint of the registry, as another process sees it.
#pragma once

#include "operate/serve/endpoint_claim.h"

namespace hone {

// Has it take a version; HONE_API_KEY is the key of a server that asks for one. H3021 with what it says.
Status ask_to_load(const Endpoint& endpoint, const DeployedModel& version);
// The variable with EndpointServer::awaited for a server that is started.
inline constexpr const char* kAwaitedVariable = "HONE_AWAITED_SERVER";
// The log file of a server that is started.
std::string server_log(const Endpoint& endpoint);

}  // namespace hone
