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
  std::vector<std::string> params;  // names of the parameters that the run has already
};
// Names and values of parameters or tags.
using MlflowMarks = std::vector<std::pair<std::string, std::string>>;

class MlflowClient {
 public:
  // A client for the address in the variable MLFLOW_TRACKING_URI. It logs in with MLFLOW_TRACKING_TOKEN, or with
  // MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD. Error H3121: the address is not set, or is not an http or
  // https URL.
  static Result<MlflowClient> of_environment();
  // A client for the address `uri`; "": the address in MLFLOW_TRACKING_URI. It logs in like the client of
  // of_environment(). `timeout_seconds` is the time limit of a request. Error H3121: the address is not set, or is not
  // an http or https URL.
  static Result<MlflowClient> at(const std::string& uri, double timeout_seconds);

  // In the calls below, `experiment` and `run` are ids, and times are in seconds since 1970. Errors of all calls: H0107
  // the server cannot be reached; H0108 the server refuses a request.

  // Returns the id of the experiment with this name; creates the experiment if there is none.
  Result<std::string> experiment(const std::string& name);
  // Creates a run.
  Result<MlflowRun> create(const std::string& experiment, const std::string& name,
                           double begun_seconds, const MlflowMarks& tags);
  Result<MlflowRun> open(const std::string& run);  // reads a run, and sets its status to RUNNING
  // Finds the newest run of the experiment whose `tag` has this value. The id is "" if there is no such run.
  Result<MlflowRun> find(const std::string& experiment, const std::string& tag,
                         const std::string& value);
  // Calls runs/log-batch. `body` may have "metrics", "params" and "tags", not "run_id", and must be within the server's
  // limits.
  Status log_batch(const std::string& run, OrderedJson body);
  // Sets the status of a run, such as FINISHED, and its end time.
  Status update(const std::string& run, const std::string& status, double ended_seconds);
  // Uploads `bytes` as the file `name` of the run's artifacts. MlflowRun::artifact_uri must begin with
  // "mlflow-artifacts:".
  Status upload(const MlflowRun& run, const std::string& name, std::string_view bytes);
  // Sends any other request to a path below /api/2.0/mlflow/. Null body: the request has no body.
  Result<Json> call(const std::string& method, const std::string& path, const OrderedJson& body);
  // Sends a GET request to a path below /api/2.0/mlflow/; nullopt if the server answers 404.
  Result<std::optional<Json>> look_up(const std::string& path);

 private:
  MlflowClient(const std::string& url, HttpHeaders headers, double timeout_seconds);
  static Result<MlflowClient> named(const std::string& variable, const std::string& uri,
                                    double timeout_seconds);
  std::string url_;
  HttpHeaders headers_;
  std::unique_ptr<ReportServer> server_;
};

// A name that the server accepts: characters other than letters, digits and "_-. :/" become '_'.
std::string mlflow_name(std::string_view name);

}  // namespace hone
