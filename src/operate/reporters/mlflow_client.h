// The client of an MLflow server.  https://mlflow.org/docs/latest/api_reference/rest-api.html
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/json.h"
#include "operate/reporters/report_server.h"

namespace hone {

struct MlflowRun {
  std::string id;
  std::string artifact_uri;
  std::vector<std::string> params;  // names of existing ones
};
using MlflowMarks = std::vector<std::pair<std::string, std::string>>;  // parameters or tags

class MlflowClient {
 public:
  // A client for MLFLOW_TRACKING_URI, with _TOKEN, or _USERNAME and _PASSWORD. H3121.
  static Result<MlflowClient> of_environment();
  // A client for this address, "" as above; user, password and token from the environment. H3121.
  static Result<MlflowClient> at(const std::string& uri, double timeout_seconds);

  // Errors of all: H0107, H0108.
  Result<std::string> experiment(const std::string& name);  // its id; created if it is new
  Result<MlflowRun> create(const std::string& experiment, const std::string& name,
                           double begun_seconds, const MlflowMarks& tags);
  Result<MlflowRun> open(const std::string& run);  // sets its status to RUNNING
  // The newest run of the experiment with this tag; its id is "" if there is none.
  Result<MlflowRun> find(const std::string& experiment, const std::string& tag,
                         const std::string& value);
  // `body` without run_id: metrics, params, tags. The caller respects the server's limits.
  Status log_batch(const std::string& run, OrderedJson body);
  Status update(const std::string& run, const std::string& status, double ended_seconds);
  // Uploads into the artifacts of a run; its artifact_uri must begin with mlflow-artifacts:.
  Status upload(const MlflowRun& run, const std::string& name, std::string_view bytes);
  // Any other call below /api/2.0/mlflow/; a null body: none.
  Result<Json> call(const std::string& method, const std::string& path, const OrderedJson& body);
  // The same by GET; nullopt if the server answers 404.
  Result<std::optional<Json>> look_up(const std::string& path);

 private:
  MlflowClient(const std::string& url, HttpHeaders headers, double timeout_seconds);
  static Result<MlflowClient> named(const std::string& variable, const std::string& uri,
                                    double timeout_seconds);
  std::string url_;
  HttpHeaders headers_;
  std::unique_ptr<ReportServer> server_;
};

// A name that the server accepts: letters, digits and "_-. :/"; others become '_'.
std::string mlflow_name(std::string_view name);

}  // namespace hone
