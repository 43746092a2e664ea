#include "run/commands/endpoint_server.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/http.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

void add_key(HttpRequest& request) {
  if (const std::string key = environment("HONE_API_KEY"); !key.empty())
    request.headers["authorization"] = "Bearer " + key;
}

Error key_refused(const Endpoint& endpoint) {
  return Error(err::kDeployRefused,
               fmt::format("the server of '{}' asks for a key, and {}", endpoint.display_name,
                           environment("HONE_API_KEY").empty() ? "none is given"
                                                               : "the one given is not its key"))
      .at(endpoint.address.empty() ? "HONE_API_KEY" : endpoint.address)
      .todo("set HONE_API_KEY to the key that the server was started with");
}

Result<HttpResponse> ask_about(const Endpoint& endpoint, const std::string& model) {
  HttpRequest request{.url = endpoint.address + "/v1/models/" + url_encoded(model)};
  add_key(request);
  HttpClient http({.stall_timeout_seconds = 10, .retries = 0});
  return http.send(request);
}

}  // namespace

std::string deployed_text(const Endpoint& endpoint) {
  std::vector<std::string> shares;
  for (const DeployedModel& d : endpoint.deployed)
    shares.push_back(fmt::format("{}:{} {}%", d.model, d.version, d.traffic));
  return join(shares, ", ");
}

OrderedJson versions_gone(const Endpoint& before, const Endpoint& after) {
  OrderedJson gone = OrderedJson::array();
  for (const DeployedModel& d : before.deployed) {
    const auto same = [&](const DeployedModel& x) {
      return x.model == d.model && x.version == d.version;
    };
    if (std::ranges::none_of(after.deployed, same))
      gone.push_back(fmt::format("{}:{}", d.model, d.version));
  }
  return gone;
}

Status ask_to_load(const Endpoint& endpoint, const DeployedModel& version) {
  const std::string body = dump_json(Json{{"parameters",
                                           {{"hone_version", std::to_string(version.version)},
                                            {"hone_traffic", version.traffic},
                                            {"hone_deployed_id", version.id}}}});
  HttpRequest request;
  request.method = "POST";
  request.url = endpoint.address + "/v2/repository/models/" + url_encoded(version.model) + "/load";
  request.body = std::as_bytes(std::span(body));
  request.idempotent = false;
  add_key(request);
  HttpClient http({.stall_timeout_seconds = 3600, .least_rate = 0, .retries = 0});
  const HttpResponse answer = HONE_TRY(http.send(request));
  if (answer.status == 200) return Ok{};
  if (answer.status == 401) return key_refused(endpoint);
  Json json;
  const bool said = !parse_json(answer.body, JsonRules{}, json) && !text_at(json, "error").empty();
  return Error(err::kDeployRefused,
               fmt::format("the endpoint's server does not take {}:{}: {}", version.model,
                           version.version, said ? text_at(json, "error") : answer.body))
      .at(endpoint.address)
      .todo(
          answer.status == 503
              ? "the versions deployed before are still served; wait some seconds and deploy again"
              : "the versions deployed before are still served; correct the model and deploy "
                "again");
}

Status check_key(const Endpoint& endpoint, const OrderedJson& given, bool runs) {
  if (runs) {
    const bool refused = HONE_TRY(ask_about(endpoint, endpoint.model)).status == 401;
    return refused ? Status(key_refused(endpoint)) : Ok{};
  }
  const auto has_file = [](const OrderedJson& serving) { return serving.contains("api_key_file"); };
  if (!endpoint.serving.value(kNeedsKey, false) || !environment("HONE_API_KEY").empty() ||
      has_file(endpoint.serving) || has_file(given))
    return Ok{};
  return Error(err::kDeployRefused,
               fmt::format("the endpoint '{}' asks for a key, and none is given",
                           endpoint.display_name))
      .at("HONE_API_KEY")
      .todo(fmt::format("set HONE_API_KEY, or name a file with keys: --serve_flags "
                        "api_key_file=FILE; for a server without keys: hone endpoints delete {}, "
                        "then deploy again",
                        shell_word(endpoint.display_name)));
}

Json description_of_model(const Endpoint& endpoint, const std::string& model) {
  const auto answer = ask_about(endpoint, model);
  if (!answer.ok() || answer->status != 200) return nullptr;
  Result<Json> described = parse_json(answer->body, "the answer");
  return described.ok() ? std::move(*described) : Json();
}

void tell_other_versions(Registry& registry, const ModelVersion& deployed, bool by_name) {
  const auto champion = resolve_model(registry, deployed.model + "@" + kChampion);
  if (champion.ok() && champion->number != deployed.number)
    log_info("{:<11} is still {}; to change it: hone models promote {}", kChampion,
             champion->reference(), shell_word(deployed.reference()));
  const auto all = registry.versions(deployed.model);
  if (!by_name || !all.ok()) return;
  int64_t newest = deployed.number;
  for (const ModelVersion& v : *all) newest = std::max(newest, v.number);
  if (newest > deployed.number)
    log_info(
        "{:<11} {}:{} is not deployed, as {}:{} is the champion; to serve it: hone deploy {}:{}",
        "newer", deployed.model, newest, deployed.model, deployed.number,
        shell_word(deployed.model), newest);
}

}  // namespace hone
