// Sends requests to the server of an endpoint, for commands that run in another process, such as hone deploy. Also
// makes texts about deployments. An endpoint is a named address at which hone serve answers with versions of models.
#pragma once

#include "operate/serve/endpoint_claim.h"

namespace hone {

// The deployed versions with their shares of the requests: "t5:1 75%, t5:2 25%".
std::string deployed_text(const Endpoint& endpoint);
// An array of the versions that `before` has and `after` does not have: ["t5:1"].
OrderedJson versions_gone(const Endpoint& before, const Endpoint& after);
// Makes the endpoint's server load a version. If the server needs an access key, the environment variable HONE_API_KEY
// must have it. Errors: H3021 the server refuses (the error has its answer); H0107 the server cannot be reached.
Status ask_to_load(const Endpoint& endpoint, const DeployedModel& version);
// Checks the access key. If `runs` is true, sends a request to the running server: Error H3021 if the server does not
// accept the key in HONE_API_KEY, H0107 if it cannot be reached. If `runs` is false, no server runs: Error H3021 if the
// endpoint needs a key, HONE_API_KEY is not set, and api_key_file is neither in the endpoint's settings nor in `given`,
// the new settings.
Status check_key(const Endpoint& endpoint, const OrderedJson& given, bool runs);
// The server's description of a model, with an example request and its route; a JSON null if the server gives none.
Json description_of_model(const Endpoint& endpoint, const std::string& model);
// Logs versions of the model other than `deployed` that the user may expect to be served: the champion, and, if
// `by_name` is true (the user named the model without a version), the newest version.
void tell_other_versions(Registry& registry, const ModelVersion& deployed, bool by_name);
// The environment variable by which a started server gets the value of EndpointServer::awaited.
inline constexpr const char* kAwaitedVariable = "HONE_AWAITED_SERVER";
// A member of Endpoint::serving beside the settings. Its value is true if the server needs a key; it is not the key.
inline constexpr const char* kNeedsKey = "needs_key";

}  // namespace hone
