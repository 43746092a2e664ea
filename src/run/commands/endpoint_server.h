// Requests to the server of an endpoint, for commands in other processes such as hone deploy; and texts about
// deployments. An endpoint is a named address at which hone serve answers with versions of models.
#pragma once

#include "operate/serve/endpoint_claim.h"

namespace hone {

// The deployed versions with their shares of the requests: "t5:1 75%, t5:2 25%".
std::string deployed_text(const Endpoint& endpoint);
// An array of the versions that `before` has and `after` does not have: ["t5:1"].
OrderedJson versions_gone(const Endpoint& before, const Endpoint& after);
// Makes the endpoint's server load a version. The environment variable HONE_API_KEY has the access key, if the server
// needs one. Errors: H3021 the server refuses, with its answer; H0107 the server cannot be reached.
Status ask_to_load(const Endpoint& endpoint, const DeployedModel& version);
// Checks the access key. `runs` true: asks the running server; Error H3021 if it does not accept HONE_API_KEY, H0107 if
// it cannot be reached. `runs` false: no server runs; Error H3021 if the endpoint needs a key, and neither HONE_API_KEY
// nor api_key_file in the endpoint's settings or in the new settings `given` has one.
Status check_key(const Endpoint& endpoint, const OrderedJson& given, bool runs);
// The server's description of a model, with an example request and its route; a JSON null if the server gives none.
Json description_of_model(const Endpoint& endpoint, const std::string& model);
// Logs other versions of the deployed model that the user may expect to be served: the champion, if it is another one;
// and, if `by_name` is true (the user named the model without a version), the newest version.
void tell_other_versions(Registry& registry, const ModelVersion& deployed, bool by_name);
// The environment variable that gives a started server the value of EndpointServer::awaited.
inline constexpr const char* kAwaitedVariable = "HONE_AWAITED_SERVER";
// A member of Endpoint::serving beside the settings: true if the server needs a key. It is not the key.
inline constexpr const char* kNeedsKey = "needs_key";

}  // namespace hone
