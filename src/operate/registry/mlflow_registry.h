// Copies models between hone's registry and the model registry of an MLflow server, through MLflow's REST API.
// https://mlflow.org/docs/latest/api_reference/rest-api.html
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operate/registry/registry.h"
#include "operate/reporters/mlflow_client.h"

namespace hone {

struct ExchangedModels {
  int64_t models = 0, versions = 0;  // created by the copy
  // Versions that were skipped, because the target has the same files.
  int64_t there_already = 0;
};

// Exports the model `name`; all models if `name` is "". For each model it sends the versions in order, the run of each
// version into the experiment "hone", the files of versions in local folders as artifacts below model/, and the
// aliases. Skips a version if the model on the server has one with the same hash in the tag "hone.hash". Errors of the
// registry and of the store; H0107 the server cannot be reached; H0108 it refuses a request; H3135 the registry has no
// model `name`.
Result<ExchangedModels> export_to_mlflow(Registry& registry, MlflowClient& client,
                                         const std::string& name);

// Imports the model `name`; all models if `name` is "". A version that hone exported is restored as it was. Any other
// version gets the source, run, parameters and metrics from MLflow; its hash is made from the model's name and the
// version's number in MLflow. Files are not copied. Errors: H0107 the server cannot be reached; H0108 it refuses a
// request; H3135 the server has no model `name`; H3136 hone does not accept a model's name.
Result<ExchangedModels> import_from_mlflow(Registry& registry, MlflowClient& client,
                                           const std::string& name);

// Parts of the server's answers. JSON members of unexpected types are ignored.
struct MlflowVersion {
  std::string number, source, run_id;
  std::map<std::string, std::string> tags;
};
struct MlflowModel {
  std::string name, description;
  // tags: name -> value. aliases: alias -> number of the version that it names.
  std::map<std::string, std::string> tags, aliases;
};
std::vector<MlflowModel> mlflow_models(const Json& answer);  // from registered-models/search
// From model-versions/search; sorted by number.
std::vector<MlflowVersion> mlflow_versions(const Json& answer);
RegisteredRun mlflow_run(const Json& answer);  // from runs/get

}  // namespace hone
