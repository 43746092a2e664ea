// Models to and from the registry of an MLflow server, by its REST API.
// https://mlflow.org/docs/latest/api_reference/rest-api.html
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operate/registry/registry.h"
#include "operate/reporters/mlflow_client.h"

namespace hone {

struct ExchangedModels {
  int64_t models = 0, versions = 0;  // that were new there
  int64_t there_already = 0;         // versions with the same files
};

// Each model (or `name` alone) with its versions in their order, the run of each in the experiment "hone", the
// files of a local folder as artifacts below model/, and the aliases. A version that is there, by the hash in
// its tag hone.hash, is not sent again. Errors: H0107, H0108, H3135, those of the registry and of the store.
Result<ExchangedModels> export_to_mlflow(Registry& registry, MlflowClient& client,
                                         const std::string& name);

// The other way: a version that hone exported is as it was; another one has MLflow's source, run, parameters
// and metrics, and a hash that names its place there. Its files are not copied. Errors: H0107, H0108, H3135
// without a model of that name, H3136 a name that hone does not take.
Result<ExchangedModels> import_from_mlflow(Registry& registry, MlflowClient& client,
                                           const std::string& name);

// What the server's answers say; members of other types are left out.
struct MlflowVersion {
  std::string number, source, run_id;
  std::map<std::string, std::string> tags;
};
struct MlflowModel {
  std::string name, description;
  std::map<std::string, std::string> tags, aliases;  // alias -> number
};
std::vector<MlflowModel> mlflow_models(const Json& answer);  // of registered-models/search
std::vector<MlflowVersion> mlflow_versions(
    const Json& answer);                       // of model-versions/search, by number
RegisteredRun mlflow_run(const Json& answer);  // of runs/get

}  // namespace hone
