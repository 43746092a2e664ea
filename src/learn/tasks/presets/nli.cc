// The preset nli: RoBERTa on pairs of sentences as the program `trainer.task` trains it (Adam with
// L2, constant rate, no clipping, pairs cut at the model's 512 tokens), with its lines on standard
// output and its file of weights.
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "base/core/clock.h"
#include "base/store/store.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/checkpoint/torch/torch_writer.h"
#include "learn/harness/run/task_run.h"
#include "learn/tasks/classification_settings.h"
#include "learn/tasks/presets/presets.h"

namespace hone {
namespace {

constexpr const char *kNliModel = "roberta-base", *kData = "multi_nli";
constexpr const char* kStars = "*************************";

struct NliSettings : ClassificationSettings {
#define HONE_SETTINGS "learn/tasks/presets/nli_settings.def"
#include "base/settings/fields.inc"
};

void set_nli_defaults(NliSettings& s) {
  s.model_name_or_path = kNliModel;
  s.dataset_name = kData;
  s.do_train = s.do_eval = true;
  s.per_device_train_batch_size = s.per_device_eval_batch_size = 16;
  s.num_train_epochs = 2;
  s.seed = 1234;
  s.optim = "adam";
  s.lr_scheduler_type = "constant";
  s.max_grad_norm = 0;
  s.max_seq_length = 512;
  s.eval_strategy = "epoch";
  s.save_strategy = "no";
  s.evaluates_mismatched = false;
}

Status settle_nli(NliSettings& s) {
  HONE_TRY(check_job_dir(s.job_dir, "copy the weights from there"));
  s.per_device_eval_batch_size = s.per_device_train_batch_size;
  // Files that are named take precedence over the preset's data set.
  const bool named = !s.train_file.empty() || !s.validation_file.empty() || !s.data_dir.empty();
  if (named && s.dataset_name == kData) s.dataset_name.clear();
  return Ok{};
}

std::string accuracy_line(bool test, int64_t epoch, const OrderedJson& accuracy) {
  return fmt::format("\n{} accuracy after epoch {}: {}\n", test ? "Test" : "Dev", epoch,
                     dump_json(accuracy));
}

// Lines to print, for a callback that sees the progress.
struct Progressed {
  int64_t epoch = 0;  // whole ones done
  bool trained = false;
};

class Lines : public TrainCallback {
 public:
  Lines(std::shared_ptr<const NliSettings> s, int64_t batches,
        std::shared_ptr<Progressed> progressed)
      : s_(std::move(s)), batches_(batches), progressed_(std::move(progressed)) {}

  void on_step_end(const RunPlace& at, const StepReport& report) override {
    const int64_t batch = (at.step - 1) % batches_ + 1;
    progressed_->epoch = (at.step + batches_ - 1) / batches_;
    if ((batch - 1) % s_->log_every != 0 && batch != batches_) return;
    std::array<char, 160> line{};
    const auto end = fmt::format_to_n(
        line.data(), line.size(), "Progress: {:3.0f}% - Batch: {:>4}/{:<4} - Loss: {:.4f}\n",
        100.0 * static_cast<double>(batch) / static_cast<double>(batches_), batch, batches_,
        report.loss);
    s_->print({line.data(), end.size});
  }
  void on_train_end(const RunPlace&) override { progressed_->trained = true; }
  void on_ended_before(const RunPlace& at, const Json& log_history) override {
    progressed_->trained = true;
    progressed_->epoch = (at.step + batches_ - 1) / batches_;
    for (const Json& entry : log_history) {
      if (entry.contains("train_runtime")) break;  // what comes after is the test
      if (entry.contains("eval_accuracy"))
        s_->print(accuracy_line(false, std::llround(entry.value("epoch", 0.0)),
                                OrderedJson(entry["eval_accuracy"])));
    }
  }

 private:
  std::shared_ptr<const NliSettings> s_;
  int64_t batches_;
  std::shared_ptr<Progressed> progressed_;
};

Result<OrderedJson> evaluate(const NliSettings& s, const Progressed& at, TaskRun& run) {
  if (at.trained) s.print("Evaluate the model using the testing dataset\n");
  s.print("\nStarting evaluation...\n");
  const auto metrics = run.examples().metrics(0);
  const int64_t rows = HONE_TRY(run.evaluate_rows(0, run.examples().evaluated, *metrics));
  if (rows < 0) return OrderedJson::object();
  OrderedJson values = metrics->values(rows);
  s.print("Done evaluation\n");
  s.print(accuracy_line(at.trained, at.epoch, values["accuracy"]));
  return values;
}

// <job_dir>/model_20260131_235959/model.pth, and model.pth here.
Status save_weights(const NliSettings& s, TaskRun& run) {
  const ModelConfig& config = run.model().config;
  std::vector<TensorData> tensors;
  for (const ParamSpec& spec : family_of(config).params(config))
    tensors.push_back(state_tensor(run.session(), spec.name, "model." + spec.name));
  HONE_TRY(save_torch(s.model_name, tensors));
  if (s.job_dir.empty()) return Ok{};
  const auto now = static_cast<std::time_t>(system_clock().wall_seconds());
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 40> name{};
  std::strftime(name.data(), name.size(), "model_%Y%m%d_%H%M%S", &local);
  const std::filesystem::path folder = std::filesystem::path(s.job_dir) / name.data();
  HONE_TRY(file_store().make_dirs(folder.string()));
  return save_torch((folder / std::filesystem::path(s.model_name).filename()).string(), tensors);
}

}  // namespace

Task preset_nli() {
  const auto s = std::make_shared<NliSettings>();
  set_nli_defaults(*s);
  Task t = classification_task(s);
  t.name = "nli";
  t.summary = "RoBERTa on natural-language inference";
  t.bind = [s, classification = t.bind](Schema& schema) {
    classification(schema);
    s->bind(schema);
    add_aliases(schema,
                {{"num_train_epochs", "epochs"}, {"per_device_train_batch_size", "batch_size"}});
  };
  t.settle = [s](const Schema&) { return settle_nli(*s); };
  t.examples = [s, classification = t.examples](Pretrained& model,
                                                const ExampleSource& source) -> Result<Examples> {
    s->print(fmt::format("\n{0}\n`cuda` available: False\nCurrent Device: cpu\n{0}\n\n", kStars));
    Examples x = HONE_TRY(classification(model, source));
    s->print(fmt::format("Training with {}/{} examples.\n", x.train ? x.train->size() : 0,
                         x.train_rows_read));
    const auto progressed = std::make_shared<Progressed>();
    x.evaluate = [s, progressed](TaskRun& run) { return evaluate(*s, *progressed, run); };
    x.callback = [s, progressed](TaskRun& run) {
      return std::make_unique<Lines>(s, run.steps().steps_per_epoch(), progressed);
    };
    x.ended = [s](TaskRun& run) { return save_weights(*s, run); };
    return x;
  };
  return t;
}

}  // namespace hone
