// TensorBoard event files in log_folder(), with the tags of Transformers' TensorBoardCallback; also
// settings and metrics for HPARAMS, the training program, use of the machine, histograms, images, embeddings.
#include <optional>
#include <set>

#include "base/core/clock.h"
#include "engine/session/session.h"
#include "learn/train/best_model.h"
#include "learn/train/log_folder.h"
#include "operate/reporters/event_file.h"
#include "operate/reporters/hparams_records.h"
#include "operate/reporters/program_graph.h"
#include "operate/reporters/projector_files.h"
#include "operate/reporters/reporter.h"

namespace hone {
namespace {

// Use of the machine, under system/; unreported values are left out.
std::vector<std::pair<std::string, double>> usage_scalars(const Usage& u) {
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](const std::string& name, double value) {
    if (value >= 0) all.emplace_back("system/" + name, value);
  };
  add("cpu_utilization", u.machine_cpu_share);
  add("process_memory_bytes", static_cast<double>(u.process_memory_bytes));
  add("disk_read_rate", u.disk_read_rate);
  add("disk_write_rate", u.disk_write_rate);
  add("network_receive_rate", u.network_receive_rate);
  add("network_send_rate", u.network_send_rate);
  for (const GpuUsage& g : u.gpus) {
    const std::string gpu = fmt::format("gpu_{}_", g.index);
    add(gpu + "utilization", g.busy_share);
    add(gpu + "memory_used_bytes", static_cast<double>(g.memory_used_bytes));
    add(gpu + "power_watts", g.power_watts);
    add(gpu + "temperature_celsius", g.temperature_celsius);
  }
  return all;
}

// The metrics that the HPARAMS dashboard compares.
std::vector<std::string> compared_metrics(const TrainSettings& s) {
  std::vector<std::string> tags;
  if (s.do_train) tags.push_back("train/loss");
  if (s.do_eval || s.eval_strategy != "no") tags.push_back("eval/loss");
  if (const std::optional<BestMetric> best = best_metric_of(s))
    if (const std::string tag = report_name(best->name); tag != "eval/loss") tags.push_back(tag);
  return tags;
}

// Tensors that training changes, each once.
std::vector<std::string> trained_weights(const Session& session) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Program& p : session.programs())
    for (const State& s : p.states) {
      const std::string& name = s.shard.whole() ? s.name : s.shard.tensor;
      if (s.role == Role::param && s.trainable && seen.insert(name).second) names.push_back(name);
    }
  return names;
}

class TensorBoard : public Reporter {
 public:
  explicit TensorBoard(const ReportSources& from) : from_(from) {}

  Status begin() override { return Ok{}; }
  void on_session(const Session& session) override { session_ = &session; }
  // A folder that cannot be written ends the run here, before its first step.
  Status on_train_begin(const RunPlace&) override { return open(); }
  // Allocates only at the steps whose weights are counted.
  void on_step_end(const RunPlace& at, const StepReport&) override {
    const int64_t every = from_.settings.histogram_steps;
    if (every == 0 || at.step % every != 0 || !file_ || !session_) return;
    for (const std::string& name : trained_weights(*session_)) add_histogram(name, at.step);
    flush();
  }
  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    if (!file_) HONE_TRY(open());  // an evaluation without training
    for (const auto& [name, value] : entry.items())
      if (value.is_number()) file_->add_scalar(report_name(name), value.get<double>(), at.step);
    if (entry.contains("learning_rate"))
      for (const auto& [tag, value] : usage_scalars(from_.usage()))
        file_->add_scalar(tag, value, at.step);
    flush();
    return Ok{};
  }
  void on_media(const RunPlace& at, const LogMedia& media) override {
    if (!file_) return;
    for (const LoggedImage& image : media.images)
      file_->add_image(image.tag, image.png, image.width, image.height, at.step);
    for (const LoggedText& text : media.texts) file_->add_text(text.tag, text.markdown, at.step);
    flush();
    if (media.embeddings) embeddings_ = media.embeddings;
    if (!file_->in_bucket()) write_embeddings();
  }
  void end(const RunEnd& end) override {
    if (!file_) return;
    write_embeddings();
    const bool success = end.status == "finished" || end.status == "stopped";
    const double at = end.ended_s > 0 ? end.ended_s : system_clock().wall_seconds();
    file_->add_hparams("session_end_info", hparams_end(success, at));
    if (!broken_) told(file_->close());
    file_.reset();
  }

 private:
  Status open() {
    file_.emplace(HONE_TRY(EventFile::create(log_folder(from_.settings))));
    log_info("{:<11} {}", "tensorboard", file_->path());
    const RunInfo& info = from_.info;
    file_->add_text("args", dump_json(Json(info.settings), {.indent = 2}), 0);
    file_->add_hparams("experiment",
                       hparams_experiment(info.settings, compared_metrics(from_.settings)));
    file_->add_hparams("session_start_info",
                       hparams_start(info.settings, info.output_dir, info.id, info.begun_s));
    if (session_)
      if (const auto programs = graphed_programs(session_->programs()); !programs.empty())
        file_->add_graph(program_graph(programs));
    return file_->flush();
  }

  // In a bucket they are written at the end: no call before waits for a server.
  void write_embeddings() {
    if (!embeddings_) return;
    const std::string folder = log_folder(from_.settings);
    if (const Status written = write_projector_files(folder, *embeddings_); !written.ok())
      log_warning("the embeddings in {} are not complete: {}", folder, written.error().text());
    embeddings_.reset();
  }

  void add_histogram(const std::string& name, int64_t step) {
    const DType dtype = session_->state_type(name).dtype;
    if (!ValueHistogram::counts(dtype)) return;
    ValueHistogram values;
    const Status read = session_->read_state(name, {}, [&](std::span<const std::byte> block) {
      values.add(dtype, block, session_->pool());
      return Status(Ok{});
    });
    if (!read.ok()) return;  // the trainer reports it
    file_->add_histogram("weights/" + name, values, step);
    if (values.not_finite() > 0)
      file_->add_scalar("not_finite/" + name, static_cast<double>(values.not_finite()), step);
  }

  // After a failure nothing more is written: readers stop at a record that is cut.
  void flush() {
    if (!broken_) told(file_->flush());
  }
  void told(const Status& written) {
    if (const std::string failure = file_->take_failure(); written.ok() && !failure.empty())
      log_warning("{} cannot be written: {}", file_->path(), failure);
    broken_ = !written.ok();
    if (broken_) log_warning("{} is not complete: {}", file_->path(), written.error().text());
  }

  ReportSources from_;
  const Session* session_ = nullptr;
  std::optional<EventFile> file_;
  std::optional<LoggedEmbeddings> embeddings_;  // not written yet
  bool broken_ = false;
};

}  // namespace

ReporterForm reporter_tensorboard() {
  return {"tensorboard", [] { return true; },
          [](const ReportSources& s) { return std::make_unique<TensorBoard>(s); }};
}

}  // namespace hone
