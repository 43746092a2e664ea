#include "operate/reporters/mlflow_client.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/unicode/base64.h"
#include "operate/reporters/errors.h"

namespace hone {
namespace {

const Json& member_of(const Json& j, const char* key) {
  static const Json nothing;
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() ? *it : nothing;
}

MlflowRun run_of(const Json& run) {
  const Json& info = member_of(run, "info");
  MlflowRun r{text_at(info, "run_id"), text_at(info, "artifact_uri"), {}};
  for (const Json& p : member_of(member_of(run, "data"), "params"))
    r.params.push_back(text_at(p, "key"));
  return r;
}

OrderedJson marks_json(const MlflowMarks& marks) {
  OrderedJson all = OrderedJson::array();
  for (const auto& [key, value] : marks) all.push_back({{"key", key}, {"value", value}});
  return all;
}

constexpr double kReportSeconds = 20;

int64_t milliseconds(double seconds) { return static_cast<int64_t>(seconds * 1000); }

}  // namespace

Result<MlflowClient> MlflowClient::of_environment() {
  const std::string uri = environment("MLFLOW_TRACKING_URI");
  if (uri.empty())
    return Error(err::kReporterSetting, "MLFLOW_TRACKING_URI is not set")
        .todo(
            "set it to the address of an MLflow server, or start one: mlflow server --port 5000; "
            "export MLFLOW_TRACKING_URI=http://localhost:5000");
  return named("MLFLOW_TRACKING_URI", uri, kReportSeconds);
}

Result<MlflowClient> MlflowClient::at(const std::string& uri, double timeout_seconds) {
  return uri.empty() ? of_environment() : named("the address of MLflow", uri, timeout_seconds);
}

Result<MlflowClient> MlflowClient::named(const std::string& variable, const std::string& uri,
                                         double timeout_seconds) {
  ServerAddress a = HONE_TRY(server_address(variable, uri));
  HttpHeaders headers{{"content-type", "application/json"}};
  if (const std::string user = environment("MLFLOW_TRACKING_USERNAME"); !user.empty()) {
    a.user = user;
    a.password = environment("MLFLOW_TRACKING_PASSWORD");
  }
  const std::string token = environment("MLFLOW_TRACKING_TOKEN");
  if (!token.empty())
    headers["authorization"] = "Bearer " + token;
  else if (!a.user.empty())
    headers["authorization"] = "Basic " + encode_base64(a.user + ":" + a.password);
  return MlflowClient(a.url, std::move(headers), timeout_seconds);
}

MlflowClient::MlflowClient(const std::string& url, HttpHeaders headers, double timeout_seconds)
    : url_(url),
      headers_(std::move(headers)),
      server_(std::make_unique<ReportServer>("MLflow at " + url.substr(0, url.find('?')),
                                             timeout_seconds)) {}

Result<Json> MlflowClient::call(const std::string& method, const std::string& path,
                                const OrderedJson& body) {
  const std::string text = body.is_null() ? "" : report_json(body);
  const std::string answer =
      HONE_TRY(server_->send(method, url_ + "/api/2.0/mlflow/" + path, headers_, text));
  Result<Json> json = parse_json(answer, "the answer of MLflow");
  if (!json.ok())
    return Error(err::kHttpStatus,
                 fmt::format("{} is not an MLflow server: its answer is not JSON", url_))
        .todo("check MLFLOW_TRACKING_URI");
  return json;
}

Result<std::optional<Json>> MlflowClient::look_up(const std::string& path) {
  const HttpResponse found =
      HONE_TRY(server_->ask("GET", url_ + "/api/2.0/mlflow/" + path, headers_, ""));
  if (found.status == 404) return std::optional<Json>();
  Result<Json> json = parse_json(found.body, "the answer of MLflow");
  if (found.status != 200 || !json.ok()) return server_->refusal(found);
  return std::optional<Json>(std::move(*json));
}

Result<std::string> MlflowClient::experiment(const std::string& name) {
  const std::string path = "/api/2.0/mlflow/experiments/get-by-name?experiment_name=";
  const HttpResponse found =
      HONE_TRY(server_->ask("GET", url_ + path + url_encoded(name), headers_, ""));
  if (found.status == 404) {
    const Json made = HONE_TRY(call("POST", "experiments/create", {{"name", name}}));
    return text_at(made, "experiment_id");
  }
  if (found.status != 200) return server_->refusal(found);
  const Result<Json> json = parse_json(found.body, "the answer of MLflow");
  const std::string id = json.ok() ? text_at(member_of(*json, "experiment"), "experiment_id") : "";
  if (id.empty()) return server_->refusal(found);
  return id;
}

Result<MlflowRun> MlflowClient::create(const std::string& experiment, const std::string& name,
                                       double begun_seconds, const MlflowMarks& tags) {
  const std::string user = environment("USER");
  const Json made = HONE_TRY(call("POST", "runs/create",
                                  {{"experiment_id", experiment},
                                   {"user_id", user},
                                   {"run_name", name},
                                   {"start_time", milliseconds(begun_seconds)},
                                   {"tags", marks_json(tags)}}));
  return run_of(member_of(made, "run"));
}

Result<MlflowRun> MlflowClient::open(const std::string& run) {
  const Json found = HONE_TRY(call("GET", "runs/get?run_id=" + url_encoded(run), nullptr));
  HONE_TRY(call("POST", "runs/update", {{"run_id", run}, {"status", "RUNNING"}}));
  return run_of(member_of(found, "run"));
}

Result<MlflowRun> MlflowClient::find(const std::string& experiment, const std::string& tag,
                                     const std::string& value) {
  const Json found = HONE_TRY(call("POST", "runs/search",
                                   {{"experiment_ids", OrderedJson::array({experiment})},
                                    {"filter", fmt::format("tags.`{}` = '{}'", tag, value)},
                                    {"max_results", 1}}));
  const Json& runs = member_of(found, "runs");
  return runs.is_array() && !runs.empty() ? run_of(runs[0]) : MlflowRun{};
}

Status MlflowClient::log_batch(const std::string& run, OrderedJson body) {
  body["run_id"] = run;
  HONE_TRY(call("POST", "runs/log-batch", body));
  return Ok{};
}

Status MlflowClient::update(const std::string& run, const std::string& status,
                            double ended_seconds) {
  HONE_TRY(call("POST", "runs/update",
                {{"run_id", run}, {"status", status}, {"end_time", milliseconds(ended_seconds)}}));
  return Ok{};
}

Status MlflowClient::upload(const MlflowRun& run, const std::string& name, std::string_view bytes) {
  // mlflow-artifacts:/1/2ab.../artifacts, or with a host: mlflow-artifacts://host:port/1/...
  std::string path = run.artifact_uri.substr(run.artifact_uri.find(':') + 1);
  if (path.starts_with("//")) path.erase(0, path.find('/', 2));
  HttpHeaders headers = headers_;
  headers["content-type"] = name.ends_with(".json") ? "application/json" : "text/plain";
  HONE_TRY(server_->send("PUT",
                         fmt::format("{}/api/2.0/mlflow-artifacts/artifacts{}/{}", url_,
                                     url_encoded(path, "/"), url_encoded(name)),
                         headers, bytes));
  return Ok{};
}

std::string mlflow_name(std::string_view name) {
  constexpr std::string_view kMore = "_-. :/";
  std::string s(name);
  for (char& c : s) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && kMore.find(c) == std::string_view::npos) c = '_';
  }
  return s;
}

}  // namespace hone
