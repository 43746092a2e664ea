// The preset nli: RoBERTa on pairs of sentences as the program `trainer.task` trains it (Adam with
// L2, constant rate, no clipping, pairs cut at the model's 512 tokens), with its lines on standard
// output and its file of weights.
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "base/store/store.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/checkpoint/torch/torch_writer.h"
#include "learn/tasks/classification.h"
#include "learn/tasks/task.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

struct NliOwnSettings {
#define HONE_SETTINGS "learn/tasks/nli_settings.def"
#include "base/settings/fields.inc"
};

constexpr const char *kModel = "roberta-base", *kData = "multi_nli";
constexpr const char* kStars = "*************************";

class NliSettings : public ClassificationSettings, public NliOwnSettings {
 public:
  NliSettings() {
    model_name_or_path = kModel;
    dataset_name = kData;
    do_train = do_eval = true;
    per_device_train_batch_size = per_device_eval_batch_size = 16;
    num_train_epochs = 2;
    seed = 1234;
    optim = "adam";
    lr_scheduler_type = "constant";
    max_grad_norm = 0;
    max_seq_length = 512;
    eval_strategy = "epoch";
    save_strategy = "no";
  }
  void bind_own(Schema& schema) override {
    ClassificationSettings::bind_own(schema);
    NliOwnSettings::bind(schema);
    for (const auto& [name, other] :
         {std::pair{"num_train_epochs", "epochs"}, {"per_device_train_batch_size", "batch_size"}}) {
      const auto& all = schema.all();  // its own settings alone, where they are listed for help
      if (std::any_of(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; }))
        schema.alias(name, other, false);
    }
  }
  Status settle(const Schema&) override {
    if (job_dir.find("://") != std::string::npos)
      return Error(err::kNoData,
                   fmt::format("--job_dir {} is not a folder of this machine", job_dir))
          .todo("name a local folder and copy the weights from there");
    per_device_eval_batch_size = per_device_train_batch_size;
    // Files that are named go before the preset's data set.
    const bool named = !train_file.empty() || !validation_file.empty() || !data_dir.empty();
    if (named && dataset_name == kData) dataset_name.clear();
    return Ok{};
  }
  bool wants_mismatched() const override { return false; }
  Result<std::unique_ptr<TokenTask>> open(Pretrained model, bool from_scratch) const override;
};

std::string accuracy_line(bool test, int64_t epoch, const OrderedJson& accuracy) {
  return fmt::format("\n{} accuracy after epoch {}: {}\n", test ? "Test" : "Dev", epoch,
                     dump_json(accuracy));
}

// What the task prints, where the callback sees how far the run is.
struct Progressed {
  int64_t epoch = 0;  // whole ones done
  bool trained = false;
};

class NliTask : public ClassificationTask {
 public:
  explicit NliTask(std::unique_ptr<NliSettings> s) : ClassificationTask(*s), s_(std::move(s)) {}

  Status begin(Pretrained model, bool from_scratch) {
    s_->print(fmt::format("\n{0}\n`cuda` available: False\nCurrent Device: cpu\n{0}\n\n", kStars));
    return start(std::move(model), from_scratch);
  }

  std::unique_ptr<TrainCallback> callback() override {
    return std::make_unique<Lines>(*s_, steps().steps_per_epoch(), progressed_);
  }

  Result<OrderedJson> evaluate() override {
    const Progressed& at = *progressed_;
    if (at.trained) s_->print("Evaluate the model using the testing dataset\n");
    s_->print("\nStarting evaluation...\n");
    OrderedJson metrics = HONE_TRY(ClassificationTask::evaluate());
    if (metrics.empty()) return metrics;
    s_->print("Done evaluation\n");
    s_->print(accuracy_line(at.trained, at.epoch, metrics["accuracy"]));
    return metrics;
  }

  // <job_dir>/model_20260131_235959/model.pth, and model.pth here.
  Status end_run() override {
    std::vector<TensorData> tensors;
    for (const ParamSpec& spec : family_of(model_.config).params(model_.config))
      tensors.push_back(state_tensor(session(), spec.name, "model." + spec.name));
    HONE_TRY(save_torch(s_->model_name, tensors));
    if (s_->job_dir.empty()) return Ok{};
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 40> name{};
    std::strftime(name.data(), name.size(), "model_%Y%m%d_%H%M%S", &local);
    const std::filesystem::path folder = std::filesystem::path(s_->job_dir) / name.data();
    HONE_TRY(file_store().make_dirs(folder.string()));
    return save_torch((folder / std::filesystem::path(s_->model_name).filename()).string(),
                      tensors);
  }

 private:
  class Lines : public TrainCallback {
   public:
    Lines(const NliSettings& s, int64_t batches, std::shared_ptr<Progressed> progressed)
        : s_(s), batches_(batches), progressed_(std::move(progressed)) {}

    void on_step_end(const RunPlace& at, const StepReport& report) override {
      const int64_t batch = (at.step - 1) % batches_ + 1;
      progressed_->epoch = (at.step + batches_ - 1) / batches_;
      if ((batch - 1) % s_.log_every != 0 && batch != batches_) return;
      std::array<char, 160> line{};
      const auto end = fmt::format_to_n(
          line.data(), line.size(), "Progress: {:3.0f}% - Batch: {:>4}/{:<4} - Loss: {:.4f}\n",
          100.0 * static_cast<double>(batch) / static_cast<double>(batches_), batch, batches_,
          report.loss);
      s_.print({line.data(), end.size});
    }
    void on_train_end(const RunPlace&) override { progressed_->trained = true; }
    void on_ended_before(const RunPlace& at, const Json& log_history) override {
      progressed_->trained = true;
      progressed_->epoch = (at.step + batches_ - 1) / batches_;
      for (const Json& entry : log_history) {
        if (entry.contains("train_runtime")) break;  // what comes after is the test
        if (entry.contains("eval_accuracy"))
          s_.print(accuracy_line(false, std::llround(entry.value("epoch", 0.0)),
                                 OrderedJson(entry["eval_accuracy"])));
      }
    }

   private:
    const NliSettings& s_;
    int64_t batches_;
    std::shared_ptr<Progressed> progressed_;
  };

  Status read_data() override {
    HONE_TRY(ClassificationTask::read_data());
    s_->print(fmt::format("Training with {}/{} examples.\n", feed().train_rows(), labelled_rows()));
    return Ok{};
  }

  std::unique_ptr<NliSettings> s_;
  std::shared_ptr<Progressed> progressed_ = std::make_shared<Progressed>();
};

Result<std::unique_ptr<TokenTask>> NliSettings::open(Pretrained model, bool from_scratch) const {
  auto s = std::make_unique<NliSettings>(*this);
  auto task = std::make_unique<NliTask>(std::move(s));
  HONE_TRY(task->begin(std::move(model), from_scratch));
  return std::unique_ptr<TokenTask>(std::move(task));
}

}  // namespace

Task task_nli() {
  return {.name = "nli",
          .summary = "the preset: RoBERTa on natural-language inference",
          .settings = [] { return std::unique_ptr<TaskSettings>(new NliSettings); }};
}

}  // namespace hone
