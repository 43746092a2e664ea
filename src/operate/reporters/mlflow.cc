// An MLflow server, under the names of Transformers' MLflowCallback.
#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/reporters/errors.h"
#include "operate/reporters/mlflow_client.h"
#include "operate/reporters/out_box.h"
#include "operate/reporters/reporter.h"

namespace hone {
namespace {

constexpr size_t kMostParams = 100, kMostParamBytes = 500;  // 500: what older servers take
constexpr double kMlflowUsageSeconds = 10;                  // as its client reads the machine
constexpr double kMlflowEndSeconds = 30;
constexpr int64_t kMostArtifactBytes = 4 << 20;
constexpr const char* kRunTag = "hone.run_id";

bool says_yes(const char* variable) {
  const std::string s = to_lower(environment(variable));
  return s == "1" || s == "true" || s == "yes" || s == "on";
}

// Under the names of MLflow's system metrics, without "system/".
std::vector<std::pair<std::string, double>> mlflow_usage(const Usage& u, const Usage& first) {
  constexpr double kMega = 1e6;
  const auto of = [](int64_t bytes) { return static_cast<double>(bytes); };
  const double used = of(u.machine_memory_bytes - u.machine_memory_available_bytes);
  std::vector<std::pair<std::string, double>> all{
      {"cpu_utilization_percentage", 100 * u.machine_cpu_share},
      {"system_memory_usage_megabytes", used / kMega},
      {"network_receive_megabytes",
       of(u.network_received_bytes - first.network_received_bytes) / kMega},
      {"network_transmit_megabytes", of(u.network_sent_bytes - first.network_sent_bytes) / kMega}};
  if (u.machine_memory_bytes > 0)
    all.emplace_back("system_memory_usage_percentage", 100 * used / of(u.machine_memory_bytes));
  for (const GpuUsage& g : u.gpus) {
    const std::string gpu = fmt::format("gpu_{}_", g.index);
    if (g.busy_share >= 0) all.emplace_back(gpu + "utilization_percentage", 100 * g.busy_share);
    if (g.memory_used_bytes >= 0) {
      all.emplace_back(gpu + "memory_usage_megabytes", of(g.memory_used_bytes) / kMega);
      if (g.memory_total_bytes > 0)
        all.emplace_back(gpu + "memory_usage_percentage",
                         100 * of(g.memory_used_bytes) / of(g.memory_total_bytes));
    }
    if (g.power_watts >= 0) all.emplace_back(gpu + "power_usage_watts", g.power_watts);
  }
  return all;
}

OrderedJson metric_json(const std::string& name, const OrderedJson& value, int64_t step) {
  const auto ms = static_cast<int64_t>(system_clock().wall_seconds() * 1000);
  return {{"key", mlflow_name(name)}, {"value", value}, {"timestamp", ms}, {"step", step}};
}

class MlflowReporter : public Reporter {
 public:
  explicit MlflowReporter(const ReportSources& sources) : from_(sources) {}

  Status begin() override {
    client_.emplace(HONE_TRY(MlflowClient::of_environment()));
    const MlflowMarks tags = HONE_TRY(tags_of_environment());
    HONE_TRY(open_run(tags));
    log_info("{:<11} run {}", "mlflow", run_.id);
    box_.emplace("MLflow");
    send_params();
    return Ok{};
  }

  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    OrderedJson metrics = OrderedJson::array();
    for (const auto& [key, value] : entry.items())
      if (value.is_number() && key != "step") metrics.push_back(metric_json(key, value, at.step));
    const Usage u = from_.usage();
    if (u.wall_seconds > 0 &&
        (!first_usage_ || u.wall_seconds >= usage_sent_ + kMlflowUsageSeconds)) {
      if (!first_usage_) first_usage_ = u;
      usage_sent_ = u.wall_seconds;
      for (const auto& [name, value] : mlflow_usage(u, *first_usage_))
        metrics.push_back(metric_json("system/" + name, value, at.step));
    }
    send({{"metrics", std::move(metrics)}});
    return Ok{};
  }

  void end(const RunEnd& end) override {
    if (!box_) return;
    if (says_yes("HF_MLFLOW_LOG_ARTIFACTS")) send_artifacts();
    const char* status = end.status == "finished"  ? "FINISHED"
                         : end.status == "stopped" ? "KILLED"
                                                   : "FAILED";
    const double at = end.ended_s > 0 ? end.ended_s : system_clock().wall_seconds();
    box_->send([this, status, at] { return client_->update(run_.id, status, at); });
    box_->finish(kMlflowEndSeconds);
    box_.reset();
  }

 private:
  Result<MlflowMarks> tags_of_environment() const {
    MlflowMarks tags{{"mlflow.source.name", "hone"},
                     {"mlflow.source.type", "LOCAL"},
                     {"mlflow.user", environment("USER")},
                     {kRunTag, from_.info.id}};
    const std::string text = environment("MLFLOW_TAGS");
    if (text.empty()) return tags;
    const Result<OrderedJson> given = parse_ordered_json(text, "MLFLOW_TAGS");
    if (!given.ok() || !given->is_object())
      return Error(err::kReporterSetting, "MLFLOW_TAGS is not a JSON object")
          .todo("write it like MLFLOW_TAGS='{\"team\": \"vision\"}'");
    for (const auto& [key, value] : given->items())
      tags.emplace_back(key, value.is_string() ? value.get<std::string>() : report_json(value));
    return tags;
  }

  // Opens the run of MLFLOW_RUN_ID; else the same run from before --restarts; else a new one.
  Status open_run(const MlflowMarks& tags) {
    if (const std::string given = environment("MLFLOW_RUN_ID"); !given.empty()) {
      Result<MlflowRun> run = client_->open(given);
      if (!run.ok()) return std::move(run.error().at("MLFLOW_RUN_ID=" + given));
      run_ = std::move(*run);
    } else {
      std::string experiment = environment("MLFLOW_EXPERIMENT_ID");
      if (const std::string name = environment("MLFLOW_EXPERIMENT_NAME"); !name.empty())
        experiment = HONE_TRY(client_->experiment(name));
      if (experiment.empty()) experiment = "0";
      if (!environment("HONE_RUN_ID").empty())
        run_ = HONE_TRY(client_->find(experiment, kRunTag, from_.info.id));
      if (run_.id.empty()) {
        run_ = HONE_TRY(client_->create(experiment, from_.info.name, from_.info.begun_s, tags));
        return Ok{};
      }
      run_ = HONE_TRY(client_->open(run_.id));
    }
    OrderedJson marks = OrderedJson::array();
    for (const auto& [key, value] : tags) marks.push_back({{"key", key}, {"value", value}});
    return client_->log_batch(run_.id, {{"tags", std::move(marks)}});
  }

  // A parameter cannot be changed, so a run that continues keeps its own.
  void send_params() {
    const std::set<std::string> had(run_.params.begin(), run_.params.end());
    OrderedJson params = OrderedJson::array();
    int64_t cut = 0;
    for (const auto& [key, value] : from_.info.settings.items()) {
      const std::string name = mlflow_name(key);
      if (had.contains(name)) continue;
      const std::string text = value.is_string() ? value.get<std::string>() : report_json(value);
      const std::string sent = utf8_prefix(text, kMostParamBytes);
      cut += sent.size() < text.size() ? 1 : 0;
      params.push_back({{"key", name}, {"value", sent}});
      if (params.size() == kMostParams)
        send({{"params", std::exchange(params, OrderedJson::array())}});
    }
    if (!params.empty()) send({{"params", std::move(params)}});
    if (cut > 0)
      log_info("mlflow: {} setting{} cut at {} bytes", cut, cut == 1 ? " is" : "s are",
               kMostParamBytes);
  }

  void send(OrderedJson body) {
    box_->send([this, body = std::move(body)] { return client_->log_batch(run_.id, body); });
  }

  // Uploads files that describe the result, not the weights.
  void send_artifacts() {
    if (!run_.artifact_uri.starts_with("mlflow-artifacts:")) {
      log_warning(
          "mlflow: artifacts are not uploaded, because the server refuses them: start it with "
          "--serve-artifacts");
      return;
    }
    const std::string& folder = from_.info.output_dir;
    for (const std::string& name : names_in(folder)) {
      const bool wanted = (name.ends_with(".json") || name == "README.md") &&
                          !name.starts_with("tokenizer") && !name.ends_with(".index.json");
      const std::string path = folder + "/" + name;
      const Result<Store::Info> info = file_store().info(path);
      if (!wanted || !info.ok() || info->folder || info->bytes > kMostArtifactBytes) continue;
      box_->send([this, name, path]() -> Status {
        const std::string bytes = HONE_TRY(file_store().read(path));
        return client_->upload(run_, name, bytes);
      });
    }
  }

  ReportSources from_;
  std::optional<MlflowClient> client_;
  MlflowRun run_;
  std::optional<Usage> first_usage_;
  double usage_sent_ = 0;
  std::optional<OutBox> box_;  // last: its jobs use the others
};

}  // namespace

ReporterForm reporter_mlflow() {
  return {"mlflow", [] { return !environment("MLFLOW_TRACKING_URI").empty(); },
          [](const ReportSources& s) { return std::make_unique<MlflowReporter>(s); }};
}

}  // namespace hone
