// Talks to the server of an endpoint, from another process, and tells what a deployment changes.
#pragma once

#include "operate/serve/endpoint_claim.h"

namespace hone {

// "t5:1 75%, t5:2 25%": the versions with their shares of the requests.
std::string deployed_text(const Endpoint& endpoint);
// The versions of `before` that `after` has not, as "t5:1".
OrderedJson versions_gone(const Endpoint& before, const Endpoint& after);
// Makes the server load a version. HONE_API_KEY is the access key, if the server needs one. H3021
// quotes the server's answer.
Status ask_to_load(const Endpoint& endpoint, const DeployedModel& version);
// H3021: the server asks for a key, and HONE_API_KEY is not it; or (`runs`: false) the endpoint does, and neither the
// environment nor the settings `given` for a server name one. Errors of the connection.
Status check_key(const Endpoint& endpoint, const OrderedJson& given, bool runs);
// The description of a model by the endpoint's server, with its example and route; null if it gives none.
Json description_of_model(const Endpoint& endpoint, const std::string& model);
// Logs what else the registry has of the model of a deployed version: another champion, or a newer version if none was
// named (`by_name`).
void tell_other_versions(Registry& registry, const ModelVersion& deployed, bool by_name);
// The variable with EndpointServer::awaited for a server that is started.
inline constexpr const char* kAwaitedVariable = "HONE_AWAITED_SERVER";
// Among the settings that an endpoint keeps: whether its server asks for a key. No setting, and no key.
inline constexpr const char* kNeedsKey = "needs_key";

}  // namespace hone
