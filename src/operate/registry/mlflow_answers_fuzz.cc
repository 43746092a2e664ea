// Any JSON as an answer of an MLflow server.
#include "base/core/error.h"
#include "operate/registry/mlflow_registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const auto answer =
      parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "answer");
  if (!answer.ok()) return 0;
  for (const MlflowModel& m : mlflow_models(*answer))
    HONE_BUG_IF(m.name.empty(), "a model without a name");
  for (const MlflowVersion& v : mlflow_versions(*answer))
    HONE_BUG_IF(v.number.empty(), "a version without a number");
  const RegisteredRun run = mlflow_run(*answer);
  HONE_BUG_IF(!run.metrics.is_object() || !run.params.is_object() || !run.record.is_object(),
              "a run of another form");
  return 0;
}
