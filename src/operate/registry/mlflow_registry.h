// Copies models to and from the registry of an MLflow server, through its REST API.
// https://mlflow.org/docs/latest/api_reference/rest-api.html
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operate/registry/registry.h"
#include "operate/reporters/mlflow_client.h"

namespace hone {

struct ExchangedModels {
  int64_t models = 0, versions = 0;  // new ones
  int64_t there_already = 0;         // versions with the same files, skipped
};

// Exports each model (or only `name`) with its versions in order, the run of each in the experiment
// "hone", the files of a local folder as artifacts below model/, and the aliases. Skips a version
// whose hash the server has in a tag hone.hash. Errors: H0107, H0108, H3135, those of the registry
// and of the store.
Result<ExchangedModels> export_to_mlflow(Registry& registry, MlflowClient& client,
                                         const std::string& name);

// Imports models. A version that hone exported is restored; another one has MLflow's source, run,
// parameters and metrics, and a hash of its place there. Files are not copied. Errors: H0107,
// H0108, H3135 no model of that name, H3136 a name that hone does not accept.
Result<ExchangedModels> import_from_mlflow(Registry& registry, MlflowClient& client,
                                           const std::string& name);

// The server's answers; members of unexpected types are left out.
struct MlflowVersion {
  std::string number, source, run_id;
  std::map<std::string, std::string> tags;
};
struct MlflowModel {
  std::string name, description;
  std::map<std::string, std::string> tags, aliases;  // alias -> number
};
// Parses the answers of registered-models/search, of model-versions/search (sorted by number) and of
// runs/get.
std::vector<MlflowModel> mlflow_models(const Json& answer);
std::vector<MlflowVersion> mlflow_versions(const Json& answer);
RegisteredRun mlflow_run(const Json& answer);

}  // namespace hone
