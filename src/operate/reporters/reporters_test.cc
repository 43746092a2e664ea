// Checks of reporters before a run begins.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <map>

#include "base/store/store.h"
#include "learn/train/settings.h"
#include "operate/reporters/reporter.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

class Refusals : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* v : {"GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "MLFLOW_TRACKING_URI",
                          "OTEL_EXPORTER_OTLP_ENDPOINT"})
      ::unsetenv(v);
  }

  // The text of begin()'s Error with these variables, "" without one.
  std::string refusal(const std::string& name,
                      const std::map<std::string, std::string>& variables) {
    for (const auto& [key, value] : variables) ::setenv(key.c_str(), value.c_str(), 1);
    const auto shelf = all_reporter();
    const auto form = std::find_if(shelf.begin(), shelf.end(),
                                   [&](const ReporterForm& f) { return f.name == name; });
    info_.id = "abcd1234";
    const Status begun = form->make({settings_, info_, metrics_, [] { return Usage{}; }})->begin();
    for (const auto& [key, value] : variables) ::unsetenv(key.c_str());
    return begun.ok() ? "" : begun.error().text();
  }

  TrainSettings settings_;
  RunInfo info_;
  Metrics metrics_;
};

TEST_F(Refusals, MlflowNeedsAServer) {
  EXPECT_THAT(refusal("mlflow", {}), HasSubstr("H3121  MLFLOW_TRACKING_URI is not set"));
  const std::string other =
      refusal("mlflow", {{"MLFLOW_TRACKING_URI", "postgresql://me:secret@host/db"}});
  EXPECT_THAT(other, HasSubstr("its scheme is 'postgresql'"));
  EXPECT_THAT(other, Not(HasSubstr("secret")));
  EXPECT_THAT(
      refusal("mlflow", {{"MLFLOW_TRACKING_URI", "http://127.0.0.1:9"}, {"MLFLOW_TAGS", "team"}}),
      HasSubstr("H3121  MLFLOW_TAGS is not a JSON object"));
}

TEST_F(Refusals, OtlpSpeaksOneProtocol) {
  EXPECT_THAT(refusal("otlp", {{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
              HasSubstr("H3121  OTEL_EXPORTER_OTLP_PROTOCOL=grpc: hone speaks http/protobuf"));
  EXPECT_THAT(refusal("otlp", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"}}),
              HasSubstr("H3121"));
}

TEST_F(Refusals, CloudLoggingNeedsAProject) {
  EXPECT_THAT(
      refusal("cloud_logging", {{"CLOUDSDK_AUTH_ACCESS_TOKEN", "secret"}}),
      AllOf(HasSubstr("H3121"), HasSubstr("GOOGLE_CLOUD_PROJECT"), Not(HasSubstr("secret"))));
  EXPECT_THAT(refusal("cloud_logging", {{"CLOUDSDK_AUTH_DISABLE_CREDENTIALS", "true"},
                                        {"GOOGLE_CLOUD_PROJECT", "p"}}),
              HasSubstr("H3121"));
}

TEST_F(Refusals, WandbWritesNothingWhenItIsDisabled) {
  const std::string folder = testing::TempDir() + "/wandb_disabled";
  EXPECT_EQ(refusal("wandb", {{"WANDB_MODE", "disabled"}, {"WANDB_DIR", folder}}), "");
  EXPECT_FALSE(path_exists(folder));
  EXPECT_THAT(refusal("wandb", {{"WANDB_RUN_ID", "a/b"}, {"WANDB_DIR", folder}}),
              HasSubstr("H3121  WANDB_RUN_ID"));
}

}  // namespace
}  // namespace hone
